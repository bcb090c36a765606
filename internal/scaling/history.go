package scaling

import "time"

// Past is what is remembered of one variant between cycles.
type Past struct {
	// Desired is the last decision, in replicas.
	Desired int `json:"desired"`
	// DecidedAt is when Desired took its present value.
	DecidedAt time.Time `json:"decidedAt"`
	// ProgressAt is when the target last came closer to Desired: replicas were
	// set or became Ready. Never before DecidedAt.
	ProgressAt time.Time `json:"progressAt"`
	// Counts are the replicas seen when the decision was last confirmed.
	Counts ReplicaCounts `json:"counts"`
}

// History holds the Past of every variant that has one. A variant without an
// entry has never been decided on.
type History map[VariantKey]Past

// Observe returns p brought up to date with the replicas seen at now: any
// movement of the counts is progress, however small.
func (p Past) Observe(seen ReplicaCounts, now time.Time) Past {
	if seen.Observed && p.Counts.Observed && (seen.Current != p.Counts.Current || seen.Ready != p.Counts.Ready) {
		p.ProgressAt = now
	}
	if seen.Observed {
		p.Counts = seen
	}
	return p
}

// Decide returns p after a decision for target replicas at now. A decision
// that changes nothing leaves the clocks alone.
func (p Past) Decide(target int, now time.Time) Past {
	if p.DecidedAt.IsZero() || target != p.Desired {
		p.Desired, p.DecidedAt, p.ProgressAt = target, now, now
	}
	return p
}

package scaling

import "time"

// Past is what is remembered of one variant between cycles.
type Past struct {
	// Target is what the variant scaled then. A decision for another target says
	// nothing of this one. Empty where it is not known: after a restart.
	Target TargetRef `json:"target,omitzero"`
	// Desired is the last decision, in replicas.
	Desired int `json:"desired"`
	// Change is by how many replicas Desired last changed, 0 if it never did.
	Change int `json:"change"`
	// DecidedAt is when Desired took its present value.
	DecidedAt time.Time `json:"decidedAt"`
	// ProgressAt is when the wait for Desired began, or when the target last came
	// closer to it than ever since. Zero while nothing was observed yet.
	ProgressAt time.Time `json:"progressAt,omitzero"`
	// Gap counts what was missing when the target was closest, in replicas to be
	// set and replicas to become Ready; 0 while nothing is missing.
	Gap int `json:"gap"`
	// Counts are the replicas as last observed.
	Counts ReplicaCounts `json:"counts"`
	// Wants are the replicas wanted lately, decided on or not. A new process knows
	// none.
	Wants Wants `json:"wants,omitzero"`
}

// History holds the Past of every variant that has one. A variant without an
// entry has never been decided on.
type History map[VariantKey]Past

// Standing returns the replicas that stand for v until something else is
// decided: the last decision, else what its target has. A decision for zero
// counts as none while the target can be read: it only ever confirms that
// nothing runs, so whoever has started replicas since then is not undone by it.
func (h History) Standing(v Variant) int {
	past, decided := h[v.Key]
	if decided && (past.Desired != 0 || !v.Replicas.Observed) {
		return past.Desired
	}
	return v.Replicas.Current
}

// Observe returns p brought up to date with the replicas seen at now. Progress
// is to come closer than before: a pod that comes and goes makes it once, and
// not for ever. What was complete and is no longer begins a new wait.
func (p Past) Observe(seen ReplicaCounts, now time.Time) Past {
	if !seen.Observed {
		return p
	}
	p.Counts = seen
	gap := p.missing()
	if p.ProgressAt.IsZero() || p.Gap == 0 && gap > 0 || gap < p.Gap {
		p.ProgressAt = now
	}
	if p.Gap == 0 || gap < p.Gap {
		p.Gap = gap
	}
	return p
}

// Decide returns p after a decision for target replicas at now. A decision
// that changes nothing leaves the clocks alone.
func (p Past) Decide(target int, now time.Time) Past {
	if p.DecidedAt.IsZero() {
		p.Desired, p.DecidedAt, p.ProgressAt = target, now, now
		p.Gap = p.missing()
		return p
	}
	if target != p.Desired {
		p.Change = target - p.Desired
		p.Desired, p.DecidedAt, p.ProgressAt = target, now, now
		p.Gap = p.missing()
	}
	return p
}

// missing counts the replicas between what is and what was decided: those to be
// set or taken away, and those that are asked for and not Ready.
func (p Past) missing() int {
	if !p.Counts.Observed {
		return 0
	}
	return max(p.Desired-p.Counts.Current, p.Counts.Current-p.Desired) + max(0, p.Counts.Current-p.Counts.Ready)
}

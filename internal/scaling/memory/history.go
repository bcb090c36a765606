package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Past is the memory of one variant between cycles, with a copy of the memory of its model.
type Past struct {
	// Target is the object that the variant scaled. A decision for another target does not
	// hold for this one. Empty while unknown: after a restart.
	Target scaling.TargetRef `json:"target,omitzero"`
	// Model is the model that the variant served. Empty while unknown: after a restart.
	Model scaling.ModelKey `json:"model,omitzero"`
	// Desired is the last decision, in replicas.
	Desired scaling.Replicas `json:"desired"`
	// Change is the last change of Desired, in replicas: new minus old. For the first decision, old
	// is the number that the target had. 0 if Desired never changed.
	Change scaling.Replicas `json:"change"`
	// MoveTo is the number of replicas that the last growth of the variant aimed at, if that was a
	// move to cheaper variants and not cancelled; else 0. MoveTo exceeds Desired while pacing
	// splits the move into steps, and after a reduction.
	MoveTo scaling.Replicas `json:"moveTo,omitempty"`
	// MoveCost is the cost per hour of the model's replicas before the last move, cancelled or
	// not, >= 0; 0 if there was no move.
	MoveCost float64 `json:"moveCost,omitempty"`
	// DecidedAt is when Desired took its present value.
	DecidedAt time.Time `json:"decidedAt"`
	// ProgressAt is when the wait for Desired began, or when the target last came closer to it
	// than at any time since then. Zero before the first observation.
	ProgressAt time.Time `json:"progressAt,omitzero"`
	// Gap is how far the target was from Desired when it was closest: replicas to be set, plus
	// replicas to become Ready. 0 once none were missing.
	Gap scaling.Replicas `json:"gap"`
	// WholeAt is the time since which no replica has been missing, zero while one is.
	WholeAt time.Time `json:"wholeAt,omitzero"`
	// Before is the number of replicas that were Ready at the last decision for more; 0 once more
	// than that are Ready.
	Before scaling.Replicas `json:"before,omitempty"`
	// Waits holds, for each missing replica, since when it has been missing.
	Waits Waits `json:"waits,omitzero"`
	// Counts are the replicas as last observed.
	Counts scaling.ReplicaCounts `json:"counts"`
	// Unplaced counts the replicas for which the scheduler has found no node, and says since when.
	Unplaced Unplaced `json:"unplaced,omitzero"`
	// Podless says since when some replica has had no pod; its Replicas is 1 at most.
	Podless Unplaced `json:"podless,omitzero"`
	// Wants are the replicas that recent cycles wanted, whether the constraints allowed them
	// or not. Empty in a new process.
	Wants Wants `json:"wants,omitzero"`
	// ModelPast is the memory of the variant's model.
	ModelPast
	// Called is when the variant was asked to wake its model from zero; zero once one of its
	// replicas is Ready, and while it is not asked.
	Called time.Time `json:"called,omitzero"`
	// Refused is when a constraint last granted none of the replicas that were to wake the
	// model; zero once it granted some, and while Called is zero.
	Refused time.Time `json:"refused,omitzero"`
	// UnseenSince is the time since which the target cannot be read and no pod of it is Ready; zero
	// while the target can be read or a pod is Ready.
	UnseenSince time.Time `json:"unseenSince,omitzero"`
	// Busy is the size of the variant when its model was last busy.
	Busy Busy `json:"busy,omitzero"`
	// Failures are the orders of the variant that were cancelled because no replica became
	// Ready, since the last order of which all did.
	Failures Failures `json:"failures,omitzero"`
	// Capacity is the last known number of tokens that one replica of the variant holds.
	Capacity TokenCapacity `json:"capacity,omitzero"`
	// Fit is the measured pace of the variant's replicas.
	Fit Fit `json:"fit,omitzero"`
	// Reductions is the memory of reductions, while they need approval.
	Reductions Reductions `json:"reductions,omitzero"`
}

// TokenCapacity is the number of tokens that one replica of a variant held. The zero value is
// unknown.
type TokenCapacity struct {
	// PerReplica is the last known capacity in tokens, used while the variant has no replicas;
	// 0 while unknown. At is when it was measured.
	PerReplica float64   `json:"perReplica,omitempty"`
	At         time.Time `json:"at,omitzero"`
	// Full lists the tokens that replicas held while their queue was full, by class of output
	// length: at most ten a class, the oldest first. Sorted by Length.
	Full []FullAt `json:"full,omitempty"`
}

// FullAt lists the tokens that full replicas held while outputs were of one class of length.
type FullAt struct {
	Length string `json:"length"` // "short", "medium", "long"
	Seen   []Held `json:"seen"`   // oldest first
}

// Held is the number of tokens that one replica held at one time.
type Held struct {
	At     time.Time `json:"at"`
	Tokens float64   `json:"tokens"`
}

// History holds the Past of each variant. A variant without an entry has no decision yet.
type History map[scaling.VariantKey]Past

// LastDesired returns the replicas that v keeps until a cycle decides otherwise: those of the last
// decision, else those that its target has. While the target can be read, a last decision for zero
// counts as none: it confirmed that no replica runs, and must not undo replicas that a user has
// started since.
func (h History) LastDesired(v scaling.Variant) scaling.Replicas {
	past, decided := h[v.Key]
	if decided && (past.Desired != 0 || !v.Replicas.Observed) {
		return past.Desired
	}
	return v.Replicas.Current
}

// Cost returns the cost per hour of the LastDesired replicas of variants.
func (h History) Cost(variants []scaling.Variant) float64 {
	sum := 0.0
	for _, v := range variants {
		sum += v.CostPerHour(h.LastDesired(v))
	}
	return sum
}

// Moved returns p with MoveTo and MoveCost updated by d, which changes the decision and is not in p
// yet. cost is the cost per hour of the model's replicas before d.
func (p Past) Moved(d scaling.Decision, cost float64) Past {
	switch to := d.Target(); {
	case to == p.Desired:
	case d.Moves():
		p.MoveTo, p.MoveCost = d.MoveTo(), cost
	case d.Cause().Reason == scaling.ReasonOrderCancelled:
		p.MoveTo = 0
	case to > p.Desired:
		p.MoveTo, p.MoveCost = 0, 0
	}
	return p
}

// Serving returns p of a variant that serves model at now. If the variant served another model
// before, the result keeps the decision and the replicas, forgets the old model and its requests,
// and begins the wait for the replicas anew.
func (p Past) Serving(model scaling.ModelKey, now time.Time) Past {
	if p.Model != model && p.Model != (scaling.ModelKey{}) {
		p = Past{
			Target: p.Target, Desired: p.Desired, Change: p.Change, DecidedAt: p.DecidedAt, ProgressAt: now,
			Counts: p.Counts, Unplaced: p.Unplaced, Podless: p.Podless, UnseenSince: p.UnseenSince,
		}
		p = p.wait(now)
	}
	p.Model = model
	return p
}

// Observe returns p after the replicas seen at now. Only a target that comes closer to Desired than
// ever before makes progress, so a pod that comes and goes makes progress once. If a target had the
// desired replicas for long enough, and another client then changes them, a new wait begins.
func (p Past) Observe(seen scaling.ReplicaCounts, now time.Time) Past {
	if !seen.Observed {
		return p
	}
	p.Counts, p.Unplaced = seen, p.Unplaced.Then(seen.Unschedulable, now)
	p.Podless = p.Podless.Then(min(1, seen.Podless), now)
	if seen.Ready > p.Before {
		p.Before = 0
	}
	gap := p.missing()
	moved := seen.Current != p.asked() && !p.WholeAt.IsZero() && now.Sub(p.WholeAt) >= lasting
	if p.ProgressAt.IsZero() || gap < p.Gap || moved {
		p.ProgressAt, p.Gap = now, gap
	}
	switch {
	case gap > 0:
		p.WholeAt = time.Time{}
	case p.WholeAt.IsZero():
		p.WholeAt = now
	}
	if gap == 0 && p.Change > 0 && p.DecidedAt.After(p.Failures.At) {
		p.Failures = Failures{} // all of a later order became Ready
	}
	ordered := now
	if !p.Waits.Known() {
		ordered = p.ProgressAt // a new process knows no earlier time
	}
	p.Waits = p.Waits.Then(p.asked(), min(seen.Ready, seen.Current), ordered, now)
	return p
}

// MoveCancelled reports whether the last move to the variant was cancelled because its replicas
// did not become Ready, and no replica was ordered since.
func (p Past) MoveCancelled() bool { return p.MoveTo == 0 && p.MoveCost > 0 }

// Starts returns p of a variant with the given usual start-up, 0 while unknown. Once it is known, p
// forgets orders that were cancelled before: they may only have been late.
func (p Past) Starts(usual time.Duration) Past {
	if usual <= 0 || !p.Failures.Early {
		return p
	}
	p.Failures = Failures{}
	if p.MoveCancelled() {
		p.MoveCost = 0
	}
	return p
}

// Decide returns p after a decision for target replicas at now. A repeated decision for the same
// number leaves all times as they are.
func (p Past) Decide(target scaling.Replicas, now time.Time) Past {
	switch {
	case p.DecidedAt.IsZero():
		if p.Counts.Observed {
			p.Change = target - p.Counts.Current
			p.Waits = Waits{There: p.Counts.Current} // no cycle ordered the missing ones of these
		}
		p.Desired, p.DecidedAt = target, now
	case target != p.Desired:
		p.Change = target - p.Desired
		p.Desired, p.DecidedAt = target, now
		if p.Change > 0 && p.Counts.Observed {
			p.Before = p.Counts.Ready
		}
	default:
		return p
	}
	return p.wait(now)
}

// wait returns p with a wait for Desired that begins at now. Replicas that were missing before keep
// their earlier time.
func (p Past) wait(now time.Time) Past {
	p.ProgressAt, p.Gap, p.WholeAt = now, p.missing(), time.Time{}
	if p.Counts.Observed {
		if p.Gap == 0 {
			p.WholeAt = now
		}
		p.Waits = p.Waits.Then(p.asked(), min(p.Counts.Ready, p.Counts.Current), now, now)
	}
	return p
}

// asked returns the replicas that the target should have: the desired ones or, after a decision for
// zero, those that another client started.
func (p Past) asked() scaling.Replicas {
	if p.Desired == 0 {
		return p.Counts.Current
	}
	return p.Desired
}

// missing returns the replicas by which the target differs from Desired, plus those that it asks
// for and that are not Ready.
func (p Past) missing() scaling.Replicas {
	if !p.Counts.Observed {
		return 0
	}
	return max(p.Desired-p.Counts.Current, p.Counts.Current-p.Desired) + max(0, p.Counts.Current-p.Counts.Ready)
}

// Advised returns p of an advisory variant, with the current replicas, which another scaler set, as
// the last decision: the next decision, and the first one that is carried out, start from them.
// Measurements and wanted replicas stay. Moves, wake-ups and failures are dropped, since no advice
// was carried out.
func (p Past) Advised(seen scaling.ReplicaCounts, now time.Time) Past {
	p.MoveTo, p.MoveCost, p.Failures = 0, 0, Failures{}
	p.Called, p.Refused = time.Time{}, time.Time{}
	if !seen.Observed {
		return p
	}
	return p.Decide(seen.Current, now)
}

package scaling

import "time"

// Past is what is remembered of one variant between cycles.
type Past struct {
	// Target is what the variant scaled then. A decision for another target says
	// nothing of this one. Empty where it is not known: after a restart.
	Target TargetRef `json:"target,omitzero"`
	// Model is what the variant served then. Empty where it is not known: after a
	// restart.
	Model ModelKey `json:"model,omitzero"`
	// Desired is the last decision, in replicas.
	Desired int `json:"desired"`
	// Change is by how many replicas Desired last changed, of the first decision
	// from what there was; 0 if it never did.
	Change int `json:"change"`
	// MoveTo is how many replicas the move to cheaper variants asked for by which the
	// variant last grew; 0 if that was no move, or one that was cancelled. It is more
	// than Desired while the pace lets the move go on in steps, and after a reduction.
	MoveTo int `json:"moveTo,omitempty"`
	// MoveCost is what the replicas of the model cost an hour before that move, or before
	// the one that was cancelled, >= 0; 0 if there was none.
	MoveCost float64 `json:"moveCost,omitempty"`
	// DecidedAt is when Desired took its present value.
	DecidedAt time.Time `json:"decidedAt"`
	// ProgressAt is when the wait for Desired began, or when the target last came
	// closer to it than ever since. Zero while nothing was observed yet.
	ProgressAt time.Time `json:"progressAt,omitzero"`
	// Gap counts what was missing when the target was closest, in replicas to be
	// set and replicas to become Ready; 0 once nothing was.
	Gap int `json:"gap"`
	// WholeAt is since when nothing has been missing, zero while something is.
	WholeAt time.Time `json:"wholeAt,omitzero"`
	// Before counts the Ready replicas when more were last decided on, while no more
	// than those have become Ready; else 0.
	Before int `json:"before,omitempty"`
	// Waits says of each missing replica since when it is waited for.
	Waits Waits `json:"waits,omitzero"`
	// Counts are the replicas as last observed.
	Counts ReplicaCounts `json:"counts"`
	// Unplaced are the replicas that no node took for a while.
	Unplaced Unplaced `json:"unplaced,omitzero"`
	// Podless says for how long there has been a replica without a pod; it counts one.
	Podless Unplaced `json:"podless,omitzero"`
	// Wants are the replicas wanted lately, decided on or not. A new process knows
	// none.
	Wants Wants `json:"wants,omitzero"`
	// Informed lists when each analyzer last knew something of the variant's model,
	// sorted by Analyzer.
	Informed []Informed `json:"informed,omitempty"`
	// Backlog is what was waiting of the variant's model.
	Backlog Backlog `json:"backlog,omitzero"`
	// Activity is what is remembered of the life of the variant's model.
	Activity Activity `json:"activity,omitzero"`
	// Called is since when replicas of the variant have been called from zero and
	// none is Ready; zero while none is called.
	Called time.Time `json:"called,omitzero"`
	// Refused is when a constraint last left the variant none of the replicas that it
	// was called for; zero once it was left some, and while it is not called.
	Refused time.Time `json:"refused,omitzero"`
	// UnseenSince is since when neither the target could be read nor a pod of it was
	// Ready; zero while one of both is so.
	UnseenSince time.Time `json:"unseenSince,omitzero"`
	// Busy is the size of the variant when its model was last busy.
	Busy Busy `json:"busy,omitzero"`
	// Traffic is what is remembered of the requests of the variant's model.
	Traffic Traffic `json:"traffic,omitzero"`
	// Turns is what is remembered of the reductions of the variant's model that
	// growth undid.
	Turns Turns `json:"turns,omitzero"`
	// Failures are the orders of the variant that were cancelled because they did
	// not arrive.
	Failures Failures `json:"failures,omitzero"`
	// Capacity is what is remembered of one replica of the variant.
	Capacity TokenCapacity `json:"capacity,omitzero"`
	// Fit is what was seen of the speed of its replicas.
	Fit Fit `json:"fit,omitzero"`
}

// Informed is when an analyzer last had an informative result.
type Informed struct {
	Analyzer string    `json:"analyzer"`
	At       time.Time `json:"at"`
}

// TokenCapacity is what one replica of a variant was seen to hold. The zero
// value is a variant that was never seen.
type TokenCapacity struct {
	// PerReplica is the last known capacity in tokens, for the time in which the
	// variant has no replicas; 0 while none is known. At is when it was seen.
	PerReplica float64   `json:"perReplica,omitempty"`
	At         time.Time `json:"at,omitzero"`
	// Full is what replicas held when their queue was full, for each class of output
	// length, oldest first and at most ten of each. Sorted by Length.
	Full []FullAt `json:"full,omitempty"`
}

// FullAt is what full replicas held while outputs were of one length.
type FullAt struct {
	Length string `json:"length"` // "short", "medium", "long"
	Seen   []Held `json:"seen"`   // oldest first
}

// Held is what one replica held at a time.
type Held struct {
	At     time.Time `json:"at"`
	Tokens float64   `json:"tokens"`
}

// History holds the Past of every variant that has one. A variant without an
// entry has never been decided on.
type History map[VariantKey]Past

// LastDesired returns the replicas that v keeps until a cycle decides otherwise: those of
// the last decision, else those that its target has. A last decision for zero counts as none
// while the target can be read: it confirmed that nothing runs, and must not undo replicas
// that a user has started since.
func (h History) LastDesired(v Variant) int {
	past, decided := h[v.Key]
	if decided && (past.Desired != 0 || !v.Replicas.Observed) {
		return past.Desired
	}
	return v.Replicas.Current
}

// Cost returns the cost per hour of the LastDesired replicas of variants.
func (h History) Cost(variants []Variant) float64 {
	sum := 0.0
	for _, v := range variants {
		sum += v.Cost * float64(h.LastDesired(v))
	}
	return sum
}

// Serving returns p of a variant that serves model at now. Of another model than
// before, what was remembered of the old one and its requests says nothing: what
// is left is the decision and the replicas, and the wait for them begins anew.
func (p Past) Serving(model ModelKey, now time.Time) Past {
	if p.Model != model && p.Model != (ModelKey{}) {
		p = Past{
			Target: p.Target, Desired: p.Desired, Change: p.Change, DecidedAt: p.DecidedAt, ProgressAt: now,
			Counts: p.Counts, Unplaced: p.Unplaced, Podless: p.Podless, UnseenSince: p.UnseenSince,
		}
		p = p.wait(now)
	}
	p.Model = model
	return p
}

// Observe returns p brought up to date with the replicas seen at now. Progress
// is to come closer than before: a pod that comes and goes makes it once, and
// not for ever. A target that had what was decided on for long enough, and that
// somebody else has changed, begins a new wait.
func (p Past) Observe(seen ReplicaCounts, now time.Time) Past {
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
	ordered := now
	if !p.Waits.Known() {
		ordered = p.ProgressAt // of a new process: as long as is remembered
	}
	p.Waits = p.Waits.Then(p.asked(), min(seen.Ready, seen.Current), ordered, now)
	return p
}

// MoveCancelled reports whether the last move to the variant was cancelled, since its order
// did not arrive, and nothing was ordered since.
func (p Past) MoveCancelled() bool { return p.MoveTo == 0 && p.MoveCost > 0 }

// Starts returns p of a variant with a usual start-up, 0 while that is unknown. What was
// given up before it was known may only have been late.
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

// Decide returns p after a decision for target replicas at now. A decision
// that changes nothing leaves the clocks alone.
func (p Past) Decide(target int, now time.Time) Past {
	switch {
	case p.DecidedAt.IsZero():
		if p.Counts.Observed {
			p.Change = target - p.Counts.Current
			p.Waits = Waits{There: p.Counts.Current} // what is missing of these was not ordered
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

// wait returns p with a wait for Desired that begins at now. Replicas that are
// waited for already stay so.
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

// asked counts the replicas that are waited for: those decided on, or those that
// somebody else started after a decision for zero.
func (p Past) asked() int {
	if p.Desired == 0 {
		return p.Counts.Current
	}
	return p.Desired
}

// missing counts the replicas between what is and what was decided: those to be
// set or taken away, and those that are asked for and not Ready.
func (p Past) missing() int {
	if !p.Counts.Observed {
		return 0
	}
	return max(p.Desired-p.Counts.Current, p.Counts.Current-p.Desired) + max(0, p.Counts.Current-p.Counts.Ready)
}

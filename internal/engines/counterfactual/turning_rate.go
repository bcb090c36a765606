package counterfactual

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Precision is the largest distance between Rate and Last of a Turn that was found, relative to the
// lower one.
const Precision = 0.001

// Whether a Turn was found.
const (
	TurnUnknown TurnKind = ""        // the arrival rate is unknown or 0
	TurnFound   TurnKind = "found"   // at Rate
	TurnAlready TurnKind = "already" // the present load calls for it, and Held prevents it
	TurnLater   TurnKind = "later"   // the present load calls for it, once the readings are of the replicas that are Ready: at At
	TurnNone    TurnKind = "none"    // at no rate up to, or down to, Last
)

// TurnKind says whether a Turn was found. The zero value is unknown.
type TurnKind string

// Turn is the arrival rate nearest to the present one at which the load calls for more, or fewer,
// replicas of a variant than are decided. The first cycle under that load decides so, or names what
// holds the decision.
type Turn struct {
	Kind TurnKind `json:"kind,omitempty"`
	Now  float64  `json:"now"` // present arrival rate, requests/s
	// Rate is the arrival rate in requests/s, Factor the ratio of it to Now.
	Rate   float64 `json:"rate,omitempty"`
	Factor float64 `json:"factor,omitempty"`
	// At is when the present load calls for it, precise to 1 s, if no reading changes until then;
	// zero unless Kind is TurnLater.
	At time.Time `json:"at,omitzero"`
	// Last is the nearest decided rate that does not change the number: within Precision of Rate
	// where the Turn was found, else the farthest that was tried; 0 where a bound of the variant
	// holds.
	Last float64 `json:"last,omitempty"`
	// Changes are the changes of all variants of the model at Rate.
	Changes []Change `json:"changes,omitempty"`
	// Held is the step that keeps the decision from what the load calls for at Rate, nil for none;
	// where no Turn was found, the step of the decision at Last.
	Held *scaling.Step `json:"held,omitempty"`
	// Until is the step of the decision at Last where that waits for replicas or readings, else
	// nil.
	Until *scaling.Step `json:"until,omitempty"`
	// ReversedAt is a rate beyond Rate at which the number does not change, 0 where none was found.
	ReversedAt float64 `json:"reversedAt,omitempty"`
	// Other is the Turn of the other variants of the model, where that is nearer.
	Other *Turn `json:"other,omitempty"`
	// Detail says why the rate is unknown.
	Detail string `json:"detail,omitempty"`
}

// direction is the direction in which the load changes.
type direction bool

const (
	up   direction = true
	down direction = false
)

// grid returns the factors that are tried, from the present load on.
func grid(d direction) []float64 {
	out := []float64{
		1.005, 1.01, 1.02, 1.035, 1.05, 1.075, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.65, 1.8, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 8, 12, 20, 45, 100,
	}
	if d == down {
		for i, f := range out {
			out[i] = 1 / f
		}
	}
	return out
}

// point is a load with its decision.
type point struct {
	factor  float64
	verdict cycle.Verdict
}

// turn returns the rate nearest to the present one at which the load calls for another number.
func (q questions) turn(d direction) Turn {
	rate := q.snapshot.Load.ArrivalRate
	out := Turn{Now: rate.Or(0)}
	if !rate.Known() || rate.Value <= 0 {
		out.Detail = "no requests arrive, so there is no load to change"
		if !rate.Known() {
			out.Detail = "the arrival rate is " + rate.State.String()
		}
		return out
	}
	own := func(v cycle.Verdict) bool { return q.passes(v, q.variant.Key, d) }
	if settled := q.atPresent(out, own, d); settled.Kind != TurnUnknown {
		return settled
	}
	others := func(v cycle.Verdict) bool {
		return slices.ContainsFunc(q.snapshot.Variants, func(o scaling.Variant) bool {
			return o.Key != q.variant.Key && q.passes(v, o.Key, d) && !q.passes(q.verdict, o.Key, d)
		})
	}
	var other *Turn
	last := point{1, q.verdict}
	for _, f := range grid(d) {
		next := q.at(f)
		if other == nil && others(next.verdict) {
			other = new(q.found(last, next, others, out.Now))
		}
		if own(next.verdict) {
			found := q.found(last, next, own, out.Now)
			found.ReversedAt = q.reversed(found.Factor, own, d) * out.Now
			if other != nil && nearer(other.Factor, found.Factor, d) {
				found.Other = other
			}
			return found
		}
		last = next
	}
	out.Kind, out.Factor, out.Last, out.Other = TurnNone, last.factor, last.factor*out.Now, other
	if decision, ok := decisionFor(last.verdict, q.variant.Key); ok {
		out.Held = held(decision)
	}
	return out
}

// atPresent returns out with its Kind where no other rate needs to be tried: the present load already
// calls for another number, or will within a window, or a bound of the variant holds at every load.
func (q questions) atPresent(out Turn, own func(cycle.Verdict) bool, d direction) Turn {
	if own(q.verdict) {
		out.Kind, out.Rate, out.Factor, out.Held = TurnAlready, out.Now, 1, held(q.decision)
		return out
	}
	if bound := q.bound(d); bound != nil {
		out.Kind, out.Held = TurnNone, bound
		return out
	}
	if later, ok := q.onceSeen(own); ok {
		out.Kind, out.Rate, out.Factor = TurnLater, out.Now, 1
		out.At, out.Changes, out.Until = later.at, q.changes(q.targets(), later.verdict), new(q.decision.Cause())
	}
	return out
}

// later is a decision at a later time.
type later struct {
	at      time.Time
	verdict cycle.Verdict
}

// onceSeen returns the first decision within a window, under the readings of now, that is changed,
// where the decision waits for replicas or readings. It returns false where none is.
func (q questions) onceSeen(changed func(cycle.Verdict) bool) (later, bool) {
	if q.decision.Cause().Reason != scaling.ReasonInTransition {
		return later{}, false
	}
	decided := func(by time.Duration) later {
		return later{q.from.Now.Add(by), q.decide(q.setup, Later(q.from, q.verdict, by))}
	}
	not, is := q.from.Now, decided(q.snapshot.Window)
	if !changed(is.verdict) {
		return later{}, false
	}
	for is.at.Sub(not) > time.Second {
		if middle := decided(not.Add(is.at.Sub(not) / 2).Sub(q.from.Now)); changed(middle.verdict) {
			is = middle
		} else {
			not = middle.at
		}
	}
	return is, true
}

// bound returns the bound of the variant that the decision has reached, nil for none: no load takes
// it further.
func (q questions) bound(d direction) *scaling.Step {
	b, step := q.variant.Bounds, scaling.Step{Stage: scaling.StageBounds, From: q.decided, To: q.decided}
	switch {
	case d == up && q.decided >= b.Max:
		step.Reason, step.Detail = scaling.ReasonAboveMax, fmt.Sprintf("maxReplicas is %d", b.Max)
	case d == down && q.decided <= min(b.Min, b.Max):
		step.Reason, step.Detail = scaling.ReasonBelowMin, fmt.Sprintf("minReplicas is %d", b.Min)
	default:
		return nil
	}
	return &step
}

// nearer reports whether factor a is reached before b.
func nearer(a, b float64, d direction) bool {
	if d == up {
		return a < b
	}
	return a > b
}

// passes reports whether the load calls for more, or fewer, replicas of a variant than are decided.
func (q questions) passes(v cycle.Verdict, of scaling.VariantKey, d direction) bool {
	decision, ok := decisionFor(v, of)
	if !ok {
		return false
	}
	n, decided := wanted(decision), targetOf(q.verdict, of)
	if d == up {
		return n > decided
	}
	return n < decided
}

// at decides with the load times a factor.
func (q questions) at(factor float64) point {
	return point{factor, q.decide(q.setup, Loaded(q.setup, q.from, q.snapshot.Model, factor))}
}

// found bisects between a load without a change and one with it.
func (q questions) found(not, is point, changed func(cycle.Verdict) bool, now float64) Turn {
	apart := func() float64 { return max(not.factor, is.factor)/min(not.factor, is.factor) - 1 }
	for apart() > Precision {
		middle := q.at((not.factor + is.factor) / 2)
		if changed(middle.verdict) {
			is = middle
		} else {
			not = middle
		}
	}
	out := Turn{Kind: TurnFound, Now: now, Factor: is.factor, Rate: is.factor * now, Last: not.factor * now}
	out.Changes = q.changes(q.targets(), is.verdict)
	if decision, ok := decisionFor(is.verdict, q.variant.Key); ok && decision.Target() != wanted(decision) {
		out.Held = held(decision)
	}
	if decision, ok := decisionFor(not.verdict, q.variant.Key); ok && slices.Contains(waits(), decision.Cause().Reason) {
		out.Until = new(decision.Cause())
	}
	return out
}

// reversed returns a factor beyond found at which the number does not change, 0 for none.
func (q questions) reversed(found float64, changed func(cycle.Verdict) bool, d direction) float64 {
	for _, beyond := range []float64{1.01, 1.05, 1.2, 1.5, 2, 4} {
		if d == down {
			beyond = 1 / beyond
		}
		if p := q.at(found * beyond); !changed(p.verdict) {
			return p.factor
		}
	}
	return 0
}

// held returns the step that keeps a decision from what the load calls for: the last change by a
// stage of delays, else the step that binds it, else its cause; nil for a decision without steps.
func held(d scaling.Decision) *scaling.Step {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(delays(), s.Stage) && s.From != s.To {
			return &s
		}
	}
	if bound, ok := explain.Bound(d); ok {
		return &bound
	}
	if len(d.Steps) == 0 {
		return nil
	}
	return new(d.Cause())
}

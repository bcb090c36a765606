package counterfactual

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Precision is how close the rate of a Turn is to one at which the number does not change, as a part of it.
const Precision = 0.001

// Whether a Turn was found.
const (
	TurnUnknown TurnKind = ""        // it is not known what arrives, or nothing does
	TurnFound   TurnKind = "found"   // at Rate
	TurnAlready TurnKind = "already" // the present load calls for it, and Held keeps it
	TurnNone    TurnKind = "none"    // not at any rate up to, or down to, Last
)

// TurnKind says whether a Turn was found. The zero value is unknown.
type TurnKind string

// Turn is the arrival rate nearest to the present one at which the load calls for more replicas of a
// variant than are decided, or for fewer: the first cycle that finds that load decides so, or names what
// holds it.
type Turn struct {
	Kind TurnKind `json:"kind,omitempty"`
	Now  float64  `json:"now"` // requests/s that arrive
	// Rate is the arrival rate in requests/s, Factor how many times Now it is.
	Rate   float64 `json:"rate,omitempty"`
	Factor float64 `json:"factor,omitempty"`
	// Last is the nearest rate that was decided and does not change the number: within Precision of Rate
	// where the Turn was found, else the farthest that was looked at; 0 where a bound of the variant holds.
	Last float64 `json:"last,omitempty"`
	// Changes are those of all variants of the model at Rate.
	Changes []Change `json:"changes,omitempty"`
	// Held is the step that keeps the decision from what the load calls for at Rate, nil where none does;
	// where no Turn was found, what the decision at Last says.
	Held *scaling.Step `json:"held,omitempty"`
	// Until is what the decision at Last waits for, nil where it waits for nothing.
	Until *scaling.Step `json:"until,omitempty"`
	// ReversedAt is a rate beyond Rate at which the number does not change, 0 where none was found.
	ReversedAt float64 `json:"reversedAt,omitempty"`
	// Other is the first rate at which another variant of the model changes, where that is nearer.
	Other *Turn `json:"other,omitempty"`
	// Detail says why nothing is known.
	Detail string `json:"detail,omitempty"`
}

// direction is which way the load changes.
type direction bool

const (
	up   direction = true
	down direction = false
)

// grid lists the factors that are looked at, from the present load on.
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

// point is one decided load.
type point struct {
	factor  float64
	verdict cycle.Verdict
}

// turn looks for the rate nearest to the present one at which the load calls for another number.
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
	if own(q.verdict) {
		out.Kind, out.Rate, out.Factor = TurnAlready, rate.Value, 1
		out.Held = held(q.decision)
		return out
	}
	if bound := q.bound(d); bound != nil {
		out.Kind, out.Held = TurnNone, bound
		return out
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

// bound returns the bound of the variant that no load takes the decision beyond, nil for none.
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

// nearer reports whether a factor is reached before another.
func nearer(a, b float64, d direction) bool {
	if d == up {
		return a < b
	}
	return a > b
}

// passes reports whether the load calls for more, or for fewer, replicas of a variant than are decided.
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

// at decides the load times a factor.
func (q questions) at(factor float64) point {
	return point{factor, q.decide(q.setup, Loaded(q.setup, q.from, q.snapshot.Model, factor))}
}

// found narrows a change down between a load at which it is not and one at which it is.
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

// reversed returns a factor beyond the found one at which the number does not change, 0 for none.
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

// held returns the step that keeps a decision from what the load calls for: that of a stage that delays,
// else what binds it, else its cause.
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

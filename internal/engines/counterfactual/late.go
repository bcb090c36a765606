package counterfactual

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Whether an order can be late.
const (
	LateUnknown LateKind = ""
	LateNone    LateKind = "none"    // no replica is ordered that is not Ready
	LateAlready LateKind = "already" // it counts as late now
	LateAt      LateKind = "at"      // it counts as late from At on
)

// LateKind says whether an order can be late. The zero value is unknown.
type LateKind string

// Late says from when on replicas that are ordered and not Ready count as late: the first cycle from then
// on names the fault, and plans without them.
type Late struct {
	Kind LateKind `json:"kind,omitempty"`
	// Missing are the replicas decided and not Ready.
	Missing scaling.Replicas `json:"missing,omitempty"`
	At      time.Time        `json:"at,omitzero"` // to a second
	// Because is the step with the fault.
	Because *scaling.Step `json:"because,omitempty"`
	Detail  string        `json:"detail,omitempty"`
}

// lateStep is how far apart the times are that are looked at.
const lateStep = 15 * time.Second

// late looks for the first time at which what is ordered counts as late, if nothing changes until then.
func (q questions) late() Late {
	r := q.variant.Replicas
	if !r.Observed {
		return Late{Detail: "the replicas of the target are not known"}
	}
	out := Late{Missing: max(0, q.decided-min(r.Ready, r.Current))}
	if out.Missing == 0 {
		out.Kind = LateNone
		return out
	}
	if step := q.fault(q.decision); step != nil {
		out.Kind, out.Because = LateAlready, step
		return out
	}
	at := func(by time.Duration) *scaling.Step {
		d, _ := decisionFor(q.decide(q.setup, Later(q.from, q.verdict, by)), q.variant.Key)
		return q.fault(d)
	}
	longest := 2*q.variant.Patience(2) + time.Minute
	for not, is := time.Duration(0), lateStep; not < longest; not, is = is, is*3/2 {
		step := at(is)
		if step == nil {
			continue
		}
		for is-not > time.Second {
			middle := not + (is-not)/2
			if s := at(middle); s != nil {
				is, step = middle, s
			} else {
				not = middle
			}
		}
		out.Kind, out.At, out.Because = LateAt, q.from.Now.Add(is), step
		return out
	}
	out.Detail = "no cycle within " + longest.Round(time.Second).String() + " would count it as late"
	return out
}

// fault returns the step of a decision that names replicas which are late, nil for none.
func (q questions) fault(d scaling.Decision) *scaling.Step {
	faults := []scaling.Reason{scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady, scaling.ReasonOrderCancelled}
	for _, s := range d.Steps {
		if slices.Contains(faults, s.Reason) {
			return &s
		}
	}
	return nil
}

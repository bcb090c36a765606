package counterfactual

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Whether an order can be late.
const (
	LateUnknown LateKind = ""
	LateNone    LateKind = "none"    // all decided replicas are Ready, or the variant is advisory
	LateAlready LateKind = "already" // it counts as late now
	LateAt      LateKind = "at"      // it counts as late from At on
)

// LateKind says whether an order can be late. The zero value is unknown.
type LateKind string

// Late says from when on replicas that are ordered and not Ready count as late: from the first
// cycle that names the fault, or plans without them.
type Late struct {
	Kind LateKind `json:"kind,omitempty"`
	// Missing is the number of replicas that are decided and not Ready.
	Missing scaling.Replicas `json:"missing,omitempty"`
	At      time.Time        `json:"at,omitzero"` // precise to 1 s
	// Because is the step with the fault. Where Again, it is the order that a cycle makes because
	// the late replicas do not count.
	Because *scaling.Step `json:"because,omitempty"`
	Again   bool          `json:"again,omitempty"`
	Detail  string        `json:"detail,omitempty"`
}

// firstLater is the first later time that is tried. Each further one is half as late again.
const firstLater = 15 * time.Second

// late returns the first time at which the order counts as late if nothing changes until then.
func (q questions) late() Late {
	r := q.variant.Replicas
	if !r.Observed {
		return Late{Detail: "the replicas of the target are not known"}
	}
	out := Late{Missing: max(0, q.decided-min(r.Ready, r.Current))}
	if q.variant.Advisory {
		out.Missing = 0
	}
	if out.Missing == 0 {
		out.Kind = LateNone
		return out
	}
	if step, again := q.lateStep(q.from, q.verdict); step != nil {
		out.Kind, out.Because, out.Again = LateAlready, step, again
		return out
	}
	at := func(by time.Duration) *scaling.Step {
		c := Later(q.from, q.verdict, by)
		step, _ := q.lateStep(c, q.decide(q.setup, c))
		return step
	}
	longest := 2*q.from.History[q.variant.Key].Patience(q.variant, 2) + time.Minute
	for not, is := time.Duration(0), firstLater; not < longest; not, is = is, is*3/2 {
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
		out.Kind, out.At, out.Because, out.Again = LateAt, q.from.Now.Add(is), step, !fault(*step)
		return out
	}
	out.Detail = "no cycle within " + longest.Round(time.Second).String() + " would count it as late"
	return out
}

// lateStep returns the step of a plan that treats replicas of the variant as late, nil for none: a
// step with a fault; or, with again, an order that the plan would not hold if those replicas had
// just been ordered.
func (q questions) lateStep(c cycle.Case, v cycle.Verdict) (step *scaling.Step, again bool) {
	d, _ := decisionFor(v, q.variant.Key)
	for _, s := range d.Steps {
		if fault(s) {
			return &s, false
		}
	}
	just := q.decide(q.setup, JustOrdered(c, q.variant.Key))
	for _, one := range v.Plan.Decisions {
		other, ok := decisionFor(just, one.Variant)
		if ok && one.Model == q.snapshot.Model && wanted(one) > wanted(other) {
			return new(one.Cause()), true
		}
	}
	return nil, false
}

// fault reports whether the reason of a step is that replicas are late.
func fault(s scaling.Step) bool {
	return slices.Contains([]scaling.Reason{
		scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady, scaling.ReasonOrderCancelled,
	}, s.Reason)
}

// JustOrdered returns c as if the missing replicas of a variant had been ordered, or lost, just
// now.
func JustOrdered(c cycle.Case, of scaling.VariantKey) cycle.Case {
	p, ok := c.History[of]
	if !ok {
		return c
	}
	p.ProgressAt, p.DecidedAt = c.Now, c.Now
	p.Waits.Runs = slices.Clone(p.Waits.Runs)
	for i := range p.Waits.Runs {
		p.Waits.Runs[i].Since = c.Now
	}
	c.History = maps.Clone(c.History)
	c.History[of] = p
	return c
}

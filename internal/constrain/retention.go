package constrain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Zero says whether the model may go to zero, and when. With the zero value Retention does
// not change the model.
type Zero struct {
	Enabled bool `json:"enabled"`
	// Retention is how long the model must be known to have been without a request, > 0.
	// Where zero is not Enabled, the model's last replica is on the cheapest variant after
	// that time.
	Retention time.Duration `json:"retention"`
}

// Retention decides whether a model has replicas at all.
//
//	the model           zero is enabled                  it is not
//	idle for longer     every variant to its minimum     one replica stays, on the cheapest variant
//	otherwise           not to zero: last desired holds  the same
//	at zero by decision stays there, unless called       one replica starts
//
// Idle is defined by memory.Activity: every source that shows requests is known and shows none. An
// unknown model is never idle. A paused variant keeps its decision, and so does one whose target
// cannot be read. The replicas of the latter count until it is memory.History.Absent.
//
// Where zero is not enabled, an idle model shrinks step by step: the optimizer reduces it to the
// last replica of each variant like any other model, and then Retention decides which of these
// stays. A time without requests may be an outage of the clients, and a fleet takes long to start.
func Retention(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: slices.Clone(plan.Decisions)}
	parts := map[scaling.Part]*retained{}
	for i, d := range out.Decisions {
		policy := in.Policies[d.Model].Zero
		if policy.Retention <= 0 {
			continue
		}
		m := parts[d.Part()]
		if m == nil {
			m = &retained{Zero: policy, activity: in.Activity[d.Model], in: in, decisions: out.Decisions}
			parts[d.Part()] = m
		}
		m.members = append(m.members, i)
	}
	for _, m := range parts { // each changes only its own decisions
		m.decide()
	}
	return out
}

// retained holds the decisions of one model, or of one role of it. Each role keeps a last replica
// of its own; both go to zero by the activity of the model.
type retained struct {
	Zero
	activity  memory.Activity
	in        Input
	decisions []scaling.Decision // of all models
	members   []int              // indexes of its own
}

func (m *retained) decide() {
	quiet := m.activity.IdleFor()
	switch {
	case m.asleep():
		if m.Enabled && m.activity.Life != scaling.LifeActive {
			m.settle("the model is at zero and no request is known to wait for it")
		}
	case !m.Enabled && m.idle():
		m.last(quiet > m.Retention)
	case m.Enabled && quiet > m.Retention:
		m.settle(fmt.Sprintf("no request for %s, the retention period is %s", quiet.Round(time.Second), m.Retention))
	case m.total() == 0:
		m.hold(quiet)
	}
	if !m.Enabled && m.total() == 0 {
		m.change(m.cheapestMember(), 1, scaling.ReasonLastReplica, "the model is not to go to zero: one replica stays, of the cheapest variant")
	}
}

// asleep reports whether the model is at zero by decision: some variant has a decision, and
// no variant has or will have a replica. A model without any decision is not asleep: its
// first replica starts. An absent variant has no replica.
func (m *retained) asleep() bool {
	decided := false
	for _, i := range m.members {
		key := m.decisions[i].Variant
		v, known := m.in.Variants[key]
		if known && m.in.History.Absent(v, m.in.Now) {
			continue
		}
		if !known || !v.Replicas.Observed || v.Replicas.Current > 0 || m.in.History.LastDesired(v) > 0 {
			return false
		}
		_, has := m.in.History[key]
		decided = decided || has
	}
	return decided
}

// settle reduces every variant to its minimum. A variant already decided at its minimum
// gets a step too, so that no later stage holds it back.
func (m *retained) settle(detail string) {
	for _, i := range m.members {
		if least := m.least(i); m.adjustable(i) && m.decisions[i].Target() >= least {
			m.change(i, least, scaling.ReasonIdle, detail)
		}
	}
}

// hold keeps every variant at its last desired replicas: no replica is needed now, and a
// model goes to zero only by its retention period.
func (m *retained) hold(quiet time.Duration) {
	why := fmt.Sprintf("no request for %s, and the retention period is %s", quiet.Round(time.Second), m.Retention)
	if quiet == 0 {
		why = "the model is not known to be idle: " + cmp.Or(m.activity.Detail, "nothing was seen of it yet")
	}
	for _, i := range m.members {
		if v := m.in.Variants[m.decisions[i].Variant]; m.adjustable(i) {
			if stands := m.in.History.LastDesired(v); stands > 0 {
				m.change(i, stands, scaling.ReasonRetained, why)
			}
		}
	}
}

// total counts the decided replicas of the model, without those for absent targets.
func (m *retained) total() scaling.Replicas {
	n := scaling.Replicas(0)
	for _, i := range m.members {
		if v := m.in.Variants[m.decisions[i].Variant]; !m.in.History.Absent(v, m.in.Now) {
			n += m.decisions[i].Target()
		}
	}
	return n
}

// least returns the replicas that a variant keeps when it is not needed.
func (m *retained) least(i int) scaling.Replicas {
	d := m.decisions[i]
	if !m.adjustable(i) {
		return d.Target()
	}
	return m.in.Variants[d.Variant].Bounds.Clamp(0)
}

// adjustable reports whether the decision may be changed.
func (m *retained) adjustable(i int) bool {
	v, ok := m.in.Variants[m.decisions[i].Variant]
	return ok && v.Replicas.Observed && !v.Paused
}

// change adds a step of Retention to a decision. It ignores i < 0.
func (m *retained) change(i int, to scaling.Replicas, reason scaling.Reason, detail string) {
	if i < 0 {
		return
	}
	d := m.decisions[i].Then(scaling.StageRetention, to, reason, detail)
	if reason != scaling.ReasonRetained {
		d = known(d)
	}
	m.decisions[i] = d
}

// known returns the decision marked as based on the known activity of the model: it is no
// fallback, and earlier reasons to hold do not apply.
func known(d scaling.Decision) scaling.Decision {
	d.Fallback, d.Withheld, d.Spare = false, false, 0
	return d
}

// unpaced reports whether a decision neither waits for a stabilization period nor shrinks in steps:
// one of Retention, or a start from zero, whose step has the same stage. A reduction of a model
// that may not go to zero is paced like any other.
func unpaced(d scaling.Decision, before scaling.Replicas, zero Zero) bool {
	return ofRetention(d) && (zero.Enabled || d.Target() >= before)
}

// ofRetention reports whether Retention or a start from zero made a step of the decision.
func ofRetention(d scaling.Decision) bool {
	return slices.ContainsFunc(d.Steps, func(s scaling.Step) bool {
		return s.Stage == scaling.StageRetention && s.Reason != scaling.ReasonLoadReturned
	})
}

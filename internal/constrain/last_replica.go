package constrain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// moveAgain is how long a variant that was reduced is not started again for the last
// replica. It prevents constant retries of a replica that did not become Ready.
const moveAgain = time.Hour

// idle reports whether the model was idle for longer than its retention period when its
// idleness was last known, and no request was seen since. The idleness is unknown while a
// replica starts.
func (m *retained) idle() bool {
	return m.activity.Life != scaling.LifeActive && m.activity.Until.Sub(m.activity.IdleSince) > m.Retention
}

// last reduces an idle model that may not go to zero to one replica in all, of the variant that
// stays. The other replicas go once that one serves, and only while the model is known to be idle.
func (m *retained) last(known bool) {
	if slices.ContainsFunc(m.members, func(i int) bool { return m.decisions[i].Target() > max(1, m.least(i)) && m.adjustable(i) }) {
		return // the optimizer still removes them
	}
	stays := m.stays()
	switch {
	case stays < 0:
		return
	case !m.serves(stays):
		m.move(stays)
		return
	}
	if m.adjustable(stays) {
		m.change(stays, max(1, m.least(stays)), scaling.ReasonLastReplica, "the model is not to go to zero: one replica stays, of the cheapest variant")
	}
	for _, i := range m.members {
		if i != stays && known && m.adjustable(i) && m.decisions[i].Target() >= m.least(i) {
			m.change(i, m.least(i), scaling.ReasonIdle, fmt.Sprintf("no request for longer than the retention period, %s, and %s has a Ready replica", m.Retention, m.name(stays)))
		}
	}
}

// stays returns the index of the variant whose replica stays, -1 if none can. A variant
// with a minimum keeps its replica, and so does one whose decision is frozen; otherwise the
// cheapest variant keeps it.
func (m *retained) stays() int {
	stays := m.cheapestMember()
	for _, i := range m.members {
		if m.least(i) > 0 && (m.serves(i) || stays < 0 || m.least(stays) == 0) && !m.absent(i) {
			stays = i
		}
	}
	return stays
}

// move starts the replica that is to stay, while the serving replica runs on. It gives the new
// replica up where that is not Ready in time; then the serving one stays.
func (m *retained) move(to int) {
	serving := -1
	for _, i := range m.members {
		if m.serves(i) && (serving < 0 || m.cheaper(i, serving)) {
			serving = i
		}
	}
	if serving < 0 || m.least(to) > 0 {
		return // the ordered replica starts
	}
	v := m.variant(to)
	past, ordered := m.in.History[v.Key], m.in.History.LastDesired(v)
	patience := past.Patience(v, 2)
	waited := m.in.Now.Sub(past.DecidedAt)
	detail := fmt.Sprintf("the last replica is to be of the cheapest variant, %s, and of %s until that is Ready", m.name(to), m.name(serving))
	switch {
	case past.DecidedAt.IsZero(), ordered > 0 && waited <= patience, ordered == 0 && (past.Change >= 0 || waited >= moveAgain):
		m.change(to, 1, scaling.ReasonLastReplica, detail)
	case ordered > 0:
		detail = fmt.Sprintf("%s was not Ready within %s: the last replica stays on %s, which serves", m.name(to), patience, m.name(serving))
		m.change(to, 0, scaling.ReasonPodsNotReady, detail)
	default:
		detail = fmt.Sprintf("the last replica stays on %s: the cheapest variant, %s, was given up %s ago and is started again after %s",
			m.name(serving), m.name(to), waited.Round(time.Second), moveAgain)
	}
	if m.adjustable(serving) {
		m.change(serving, max(1, m.least(serving)), scaling.ReasonLastReplica, detail)
	}
}

func (m *retained) variant(i int) scaling.Variant { return m.in.Variants[m.decisions[i].Variant] }

func (m *retained) name(i int) string { return m.decisions[i].Variant.Name }

// serves reports whether the variant has a Ready replica, or may have.
func (m *retained) serves(i int) bool { return m.in.History.MayServe(m.variant(i), m.in.Now) }

func (m *retained) absent(i int) bool { return m.in.History.Absent(m.variant(i), m.in.Now) }

// cheapestMember returns the index of the variant that gets the last replica, -1 if none can.
func (m *retained) cheapestMember() int {
	keeper := -1
	for _, i := range m.members {
		if m.adjustable(i) && m.variant(i).Bounds.Max > 0 && (keeper < 0 || m.cheaper(i, keeper)) {
			keeper = i
		}
	}
	return keeper
}

// cheaper reports whether i comes before j by cost, accelerators of a replica, and name.
func (m *retained) cheaper(i, j int) bool {
	a, b := m.variant(i), m.variant(j)
	return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.GPUsPerReplica, b.GPUsPerReplica), a.Key.Compare(b.Key)) < 0
}

package sim

import (
	"math"
	"time"
)

// never is an instant that no run reaches.
const never = time.Duration(math.MaxInt64)

// waking says when the run asks the policy.
type waking struct {
	attentive Attentive // nil for a policy that decides at its interval only
	attention Attention
	interval  time.Duration
	last      time.Duration // of the last decision
	timed     time.Duration // of the next decision by the interval
	due       time.Duration // of the next decision; a decideEvent of another instant is void
}

// listen reads when the policy wants to be asked, and plans its first decision: after the interval,
// or at once, as the manager does, if the policy is attentive.
func (w *world) listen() {
	k := &w.waking
	first := k.interval
	if a, ok := w.policy.(Attentive); ok {
		k.attentive, k.attention = a, a.Attention()
		first = 0
		if looks := k.attention.Looks; looks > 0 {
			w.agenda.push(event{at: looks, kind: lookEvent})
		}
	}
	w.plan(first)
}

// plan plans the next decision.
func (w *world) plan(at time.Duration) {
	w.waking.due = at
	if at < never {
		w.agenda.push(event{at: at, kind: decideEvent})
	}
}

// begin books that the policy is asked now, and plans the next decision. An early decision does not
// delay the one at the interval.
func (w *world) begin() {
	k := &w.waking
	k.last = w.now
	if k.attention.Alone {
		w.plan(never)
		return
	}
	if k.timed <= w.now {
		k.timed = w.now + k.interval
	}
	w.plan(k.timed)
}

// changed asks for a decision if the policy wants one after a change of the replicas of a variant,
// or of its Ready replicas.
func (w *world) changed() {
	if w.waking.attention.Changes {
		w.wake()
	}
}

// wake plans a decision as early as Rest allows.
func (w *world) wake() {
	k := &w.waking
	rest := k.attention.Rest
	if !k.attention.Alone {
		rest = min(rest, k.interval)
	}
	if at := max(w.now, k.last+rest); at < k.due {
		w.plan(at)
	}
}

// look shows the snapshots to the policy, plans a decision if the policy asks for one, and
// schedules the next look.
func (w *world) look() {
	k := &w.waking
	w.agenda.push(event{at: w.now + k.attention.Looks, kind: lookEvent})
	if k.attentive.Look(View{Now: w.clock(w.now), Snapshots: w.snapshots(w.survey())}) {
		w.wake()
	}
}

package sim

import (
	"math"
	"time"
)

// never is an instant that no run reaches.
const never = time.Duration(math.MaxInt64)

// waking is when the policy is asked.
type waking struct {
	attentive Attentive // nil for a policy that goes by the clock alone
	attention Attention
	interval  time.Duration
	last      time.Duration // the last decision
	timed     time.Duration // the next one that its time brings
	due       time.Duration // the next one; a decideEvent of another instant is void
}

// listen asks the policy how it wants to be asked, and plans its first decision:
// at once, as the manager has it, where the policy is attentive.
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

// begin notes that the policy is asked now, and plans the next time: what was asked
// for early does not put off what its time brings.
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

// changed tells the policy that the replicas of a variant changed, or those of it
// that are Ready.
func (w *world) changed() {
	if w.waking.attention.Changes {
		w.wake()
	}
}

// wake has the policy asked as soon as it may be.
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

// look shows the policy what it would decide on, and comes back.
func (w *world) look() {
	k := &w.waking
	w.agenda.push(event{at: w.now + k.attention.Looks, kind: lookEvent})
	if k.attentive.Look(View{Now: w.clock(w.now), Snapshots: w.snapshots(w.survey())}) {
		w.wake()
	}
}

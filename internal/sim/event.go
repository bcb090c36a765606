package sim

import "time"

// kind says what is due.
type kind uint8

const (
	readyEvent kind = iota
	drainedEvent
	killEvent
	expireEvent
	podScrape
	gatewayScrape
	lookEvent
	decideEvent
	syncEvent
	intervalEvent
	beginEvent
	endEvent
	waveEvent
	turnEvent
	nodeEvent
	leaveEvent
	returnEvent
)

// event is something that is due. One that no longer applies is ignored when its
// time comes: see world.handle.
type event struct {
	at    time.Duration
	seq   uint64 // order of scheduling
	kind  kind
	pod   *pod   // of readyEvent, drainedEvent, killEvent, podScrape, turnEvent
	model *model // of expireEvent, gatewayScrape, leaveEvent, returnEvent
	slot  uint32 // of leaveEvent
	back  *back  // of returnEvent

	trouble *trouble // of beginEvent, endEvent, waveEvent, turnEvent
	wave    int      // of waveEvent
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// agenda is a binary heap of events. Written out because container/heap would
// allocate for every event.
type agenda struct {
	events []event
	seq    uint64
}

func (a *agenda) push(e event) {
	a.seq++
	e.seq = a.seq
	a.events = append(a.events, e)
	for i := len(a.events) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.events[i].before(a.events[parent]) {
			return
		}
		a.events[i], a.events[parent] = a.events[parent], a.events[i]
		i = parent
	}
}

// next returns when the earliest event is due. The agenda is never empty: the
// interval event puts itself back.
func (a *agenda) next() time.Duration { return a.events[0].at }

func (a *agenda) pop() event {
	top, last := a.events[0], len(a.events)-1
	a.events[0], a.events[last] = a.events[last], event{}
	a.events = a.events[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.events[child].before(a.events[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		a.events[i], a.events[least] = a.events[least], a.events[i]
		i = least
	}
}

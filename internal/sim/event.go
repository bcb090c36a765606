package sim

import "time"

// kind is the kind of an event.
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
	stepEvent
	passEvent
	movedEvent
)

// event happens at an instant. world.handle ignores an event that no longer applies.
type event struct {
	at    time.Duration
	kind  kind
	pod   *pod   // of readyEvent, drainedEvent, killEvent, podScrape, turnEvent, stepEvent, passEvent, movedEvent
	model *model // of expireEvent, gatewayScrape, leaveEvent, returnEvent
	slot  uint32 // of leaveEvent, passEvent, movedEvent
	back  *back  // of returnEvent

	trouble *trouble // of beginEvent, endEvent, waveEvent, turnEvent
	wave    int      // of waveEvent
}

// agenda holds the scheduled events, in a binary heap by time. container/heap would allocate for
// every event. The heap has no pointers, since each move of a pointer costs a write barrier of the
// garbage collector: the events lie in slots.
type agenda struct {
	heap  []entry
	slots []event
	free  []uint32 // slots without an event
	seq   uint64
}

// entry is the place of an event in the order of time.
type entry struct {
	at   time.Duration
	seq  uint64 // order of scheduling
	slot uint32
}

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (a *agenda) push(e event) {
	a.seq++
	added := entry{e.at, a.seq, uint32(len(a.slots))}
	if n := len(a.free); n > 0 {
		added.slot = a.free[n-1]
		a.free = a.free[:n-1]
		a.slots[added.slot] = e
	} else {
		a.slots = append(a.slots, e)
	}
	a.heap = append(a.heap, added)
	i := len(a.heap) - 1
	for i > 0 && added.before(a.heap[(i-1)/2]) {
		a.heap[i] = a.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	a.heap[i] = added
}

// next returns when the earliest event is due. The agenda is never empty: the
// interval event puts itself back.
func (a *agenda) next() time.Duration { return a.heap[0].at }

func (a *agenda) pop() event {
	slot, last := a.heap[0].slot, len(a.heap)-1
	moved := a.heap[last]
	a.heap = a.heap[:last]
	for i := 0; last > 0; {
		least := 2*i + 1
		if least+1 < last && a.heap[least+1].before(a.heap[least]) {
			least++
		}
		if least >= last || !a.heap[least].before(moved) {
			a.heap[i] = moved
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	top := a.slots[slot]
	a.slots[slot] = event{}
	a.free = append(a.free, slot)
	return top
}

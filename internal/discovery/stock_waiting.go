package discovery

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// waitingRoom seats the pods that wait for a node: the scheduler will give them
// what is free, before any that is not there yet. Where it will put them is its
// choice among the nodes that they may run on; it is taken to be the one that is
// left with the least, as replicas are placed here too. Where nothing is free it
// will be what pods leave behind that terminate. A pod for which there is no room
// takes nothing.
type waitingRoom struct {
	places  []place
	fitting map[queue][]int // indexes of the places for each queue
	full    map[seat]bool   // what there is no room for, nor will be
}

// queue is pods that may run on the same nodes and take of the same vendor.
type queue struct {
	place  string
	vendor int
}

// seat is what pods of a queue look for alike.
type seat struct {
	queue
	gpus int
}

// seatAll seats the oldest first, among equals by name.
func (w *waitingRoom) seatAll(waiting map[types.NamespacedName]stockPod) {
	type entry struct {
		name types.NamespacedName
		pod  stockPod
	}
	line := make([]entry, 0, len(waiting))
	for name, p := range waiting {
		line = append(line, entry{name, p})
	}
	slices.SortFunc(line, func(a, b entry) int {
		return cmp.Or(a.pod.created.Compare(b.pod.created), strings.Compare(a.name.Namespace, b.name.Namespace), strings.Compare(a.name.Name, b.name.Name))
	})
	for _, e := range line {
		for _, q := range e.pod.portions {
			if s := (seat{queue{e.pod.place, q.vendor}, q.gpus}); !w.full[s] {
				w.full[s] = !w.take(s, e.pod.where, (*place).now) && !w.take(s, e.pod.where, (*place).soon)
			}
		}
	}
}

// now and soon are what a place has to give.
func (p *place) now() int  { return p.free }
func (p *place) soon() int { return p.free + p.leaving }

// take takes what is looked for off the place that it fits best by what each has,
// and reports whether there is one.
func (w *waitingRoom) take(s seat, on *where, has func(*place) int) bool {
	best := -1
	for _, i := range w.placesFor(s.queue, on) {
		if n := has(&w.places[i]); n >= s.gpus && (best < 0 || n < has(&w.places[best])) {
			if best = i; n == s.gpus {
				break
			}
		}
	}
	if best < 0 {
		return false
	}
	p := &w.places[best]
	soon := max(0, s.gpus-p.free) // what it has to wait for
	p.free -= s.gpus - soon
	p.leaving -= soon
	p.promised += s.gpus
	return true
}

// placesFor returns the places for a queue, which may be on the nodes on.
func (w *waitingRoom) placesFor(q queue, on *where) []int {
	indexes, ok := w.fitting[q]
	if !ok {
		for i := range w.places {
			if p := &w.places[i]; p.vendor == q.vendor && p.soon() > 0 && on.admits(*p.node) {
				indexes = append(indexes, i)
			}
		}
		w.fitting[q] = indexes
	}
	return indexes
}

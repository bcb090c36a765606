package stock

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pendingPods reserves accelerators for the pods that wait for a node: the scheduler serves them
// before pods that do not exist yet. It places each by best fit: of the nodes on which it may run,
// on the one that is left with the fewest free accelerators. Where none has enough free, it counts
// those that terminating pods will free. A pod that fits nowhere reserves nothing.
type pendingPods struct {
	places      []place
	fitting     map[queue][]int     // indexes of the places for each queue
	unplaceable map[podRequest]bool // requests that no node can take, now or once pods have terminated
}

// queue identifies pods that may run on the same nodes and take accelerators of the same vendor.
type queue struct {
	place  string
	vendor int
}

// podRequest is the number of accelerators that a pod of a queue requests.
type podRequest struct {
	queue
	gpus scaling.Accelerators
}

// placeAll places the oldest pods first, pods of the same age by name.
func (w *pendingPods) placeAll(waiting map[types.NamespacedName]stockPod) {
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
			if s := (podRequest{queue{e.pod.place, q.vendor}, q.gpus}); !w.unplaceable[s] {
				w.unplaceable[s] = !w.take(s, e.pod.where, (*place).now) && !w.take(s, e.pod.where, (*place).soon)
			}
		}
	}
}

// now and soon return the accelerators that a place can offer.
func (p *place) now() scaling.Accelerators  { return p.free }
func (p *place) soon() scaling.Accelerators { return p.free + p.leaving }

// take reserves the requested accelerators on the place that they fit best, and reports whether
// there is one. has returns how many a place can offer.
func (w *pendingPods) take(s podRequest, on *where, has func(*place) scaling.Accelerators) bool {
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
	soon := max(0, s.gpus-p.free) // accelerators that are not free yet
	p.free -= s.gpus - soon
	p.leaving -= soon
	p.promised += s.gpus
	return true
}

// placesFor returns the indexes of the places for a queue; on says on which nodes its pods may run.
func (w *pendingPods) placesFor(q queue, on *where) []int {
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

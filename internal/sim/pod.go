package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podPhase is the phase in the life of a pod.
type podPhase uint8

const (
	unplaced podPhase = iota // no node has room
	starting                 // its engine starts, or starts again after a crash
	unready                  // lost its readiness, and goes on with its requests
	serves
	draining // removed, finishes its requests
	gone
)

// pod is one replica in the cluster.
type pod struct {
	variant *variant
	name    string
	number  scaling.Replicas // of its variant, from 1
	phase   podPhase
	node    int // index into the stock of its accelerator, -1 for none

	created  time.Duration
	placed   time.Duration // when it took its node
	served   time.Duration // when it became ready
	startUp  time.Duration // from placed to served
	replica  Replica       // nil before it serves
	due      time.Duration // when its start is over; a readyEvent of another instant is void
	settled  time.Duration // instant to which the replica was advanced
	live     int           // requests in the replica
	prompts  float64       // prompts that its cache has seen
	queued   int64         // input tokens of the requests that wait in it
	capacity float64       // of the KV cache, tokens; 0 where it is unknown
	ttft     distribution  // observed latencies
	itl      distribution
	each     distribution  // ITL of requests, each counted once
	pages    []scraped     // oldest first
	scraped  bool          // a podScrape is scheduled
	free     time.Duration // no node takes the pod before this instant
	hits     []hit         // faults that are on it
	badness  float64       // score of the pod at the last choice of the gateway, less is better
	waits    int           // requests in its queue at that choice

	// For a model that is served in parts.
	step   time.Duration // when a prefill replica is looked at next; a stepEvent of another instant is void
	keeps  int           // requests that left it and whose KV cache it still keeps
	pulls  int           // requests whose KV cache moves to it
	pulled time.Duration // sum of the transfers of the requests with a first token
}

// newPod returns a pod that is created now.
func (w *world) newPod(v *variant) *pod {
	v.created++
	p := &pod{
		variant: v, number: v.created, name: fmt.Sprintf("%s-%05d", v.Spec.Key.Name, v.created),
		node: -1, created: w.now, startUp: v.StartUp.Draw(v.draws), settled: -1,
		ttft: distribution{bounds: v.model.ttftBounds}, itl: distribution{bounds: v.model.itlBounds}, each: distribution{bounds: v.model.itlBounds},
	}
	for _, t := range w.troubles {
		w.strike(t, p)
	}
	return p
}

// found adds a replica that is ready from the start.
func (w *world) found(v *variant) error {
	p := w.newPod(v)
	if !w.take(p) {
		return &FieldError{
			Field: fmt.Sprintf("replicas of %s", v.Spec.Key), Value: fmt.Sprint(v.Replicas),
			Want: fmt.Sprintf("at most %d, what the nodes with %s have room for", len(v.pods), v.Spec.Accelerator),
		}
	}
	v.pods = append(v.pods, p)
	if err := w.prepare(p); err != nil {
		return err
	}
	p.phase, p.prompts = starting, math.Inf(1)
	w.ready(p)
	return nil
}

// prepare makes the replica of a pod.
func (w *world) prepare(p *pod) error {
	r, err := p.variant.newReplica()
	if err != nil {
		return fmt.Errorf("simulation: making a replica of %s: %w", p.variant.Spec.Key, err)
	}
	p.replica = w.stallable(p, r)
	p.capacity = p.variant.kvTokens()
	return nil
}

// kvTokens returns the size of the KV cache of a replica, tokens; 0 where it is unknown.
func (v *variant) kvTokens() float64 {
	if v.Replica != nil {
		return 0
	}
	return float64(v.Profile.Blocks() * v.Profile.BlockSize)
}

// scale creates or removes pods until a variant has n.
func (w *world) scale(v *variant, n scaling.Replicas) error {
	for scaling.Replicas(len(v.pods)) < n {
		p := w.newPod(v)
		v.pods = append(v.pods, p)
		w.waiting = append(w.waiting, p)
	}
	for scaling.Replicas(len(v.pods)) > n {
		w.remove(v.victim())
	}
	return w.place()
}

// victim returns the pod to remove first, in the order of the ReplicaSet controller: without a
// node, not ready, ready for the shortest time.
func (v *variant) victim() *pod {
	return slices.MinFunc(v.pods, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(b.served, a.served), cmp.Compare(b.number, a.number))
	})
}

// place gives nodes to the pods that wait for one, oldest first. A pod that fits nowhere does not
// hold up the others.
func (w *world) place() error {
	left := w.waiting[:0]
	for _, p := range w.waiting {
		if p.free > w.now || !w.take(p) {
			left = append(left, p)
			continue
		}
		if err := w.prepare(p); err != nil {
			return err
		}
		p.phase = starting
		if w.judges() {
			p.variant.tally.Started++
		}
		w.start(p, w.now+p.startUp)
	}
	clear(w.waiting[len(left):])
	w.waiting = left
	return nil
}

// take takes accelerators for the pod from the first node with room. It returns false if none has.
func (w *world) take(p *pod) bool {
	nodes, limited := w.stock[p.variant.Spec.Accelerator]
	p.placed = w.now
	if !limited {
		return true
	}
	need := p.variant.Spec.GPUsPerReplica
	for i, free := range nodes {
		if free >= need {
			nodes[i] -= need
			p.node = i
			return true
		}
	}
	return false
}

// ready puts a pod into service and sends it the requests that the gateway holds.
func (w *world) ready(p *pod) {
	p.phase, p.served = serves, w.now
	if !p.scraped {
		p.scraped = true
		first := w.now + w.phase(p.variant.draws) + time.Millisecond
		w.agenda.push(event{at: first.Truncate(time.Millisecond), kind: podScrape, pod: p})
	}
	w.unsettle(p)
	w.release(p.variant.model)
	w.changed()
}

// remove takes a pod out of service.
func (w *world) remove(p *pod) {
	v := p.variant
	v.pods = slices.DeleteFunc(v.pods, func(o *pod) bool { return o == p })
	switch p.phase {
	case unplaced:
		w.waiting = slices.DeleteFunc(w.waiting, func(o *pod) bool { return o == p })
		p.phase = gone
	case starting:
		v.leaving = append(v.leaving, p)
		w.bury(p)
	case unready, serves, draining, gone:
		p.phase = draining
		v.leaving = append(v.leaving, p)
		if v.Grace == 0 {
			w.kill(p)
			return
		}
		w.agenda.push(event{at: w.now + v.Grace, kind: killEvent, pod: p})
		w.drain(p)
	}
}

// drain buries a pod that has finished its requests, or schedules another look at it after the next
// step of its replica.
func (w *world) drain(p *pod) {
	w.settle(p)
	if p.live+p.keeps+p.pulls == 0 {
		w.bury(p)
		return
	}
	if at, ok := p.replica.Next(); ok {
		w.agenda.push(event{at: max(at, w.now) + 1, kind: drainedEvent, pod: p})
	}
}

// kill ends a pod; its remaining requests are lost.
func (w *world) kill(p *pod) {
	w.lose(p)
	w.bury(p)
}

// lose books the requests of a pod as lost.
func (w *world) lose(p *pod) {
	w.settle(p)
	w.requests.of(p, func(slot uint32) {
		p.variant.model.tally.lost(w.requests.at(slot))
		w.end(p.variant.model, slot)
	})
	p.live = 0
}

// enqueue counts a request that begins to wait in the replica.
func (p *pod) enqueue(r *request) {
	if !r.queued {
		r.queued = true
		p.queued += int64(r.input)
	}
}

// unqueue counts a request that enters the batch.
func (p *pod) unqueue(r *request) {
	if r.queued {
		r.queued = false
		p.queued -= int64(r.input)
	}
}

// bury frees the node of a pod. Its pages stay until they have left the window.
func (w *world) bury(p *pod) {
	v := p.variant
	w.occupied(&v.tally, p)
	if p.replica != nil {
		v.tally.Preemptions += p.replica.Stats().Preemptions
	}
	p.phase, p.replica = gone, nil
	v.leaving = slices.DeleteFunc(v.leaving, func(o *pod) bool { return o == p })
	if len(p.pages) > 0 {
		v.gone = append(v.gone, p)
	}
	if p.node >= 0 {
		w.stock[v.Spec.Accelerator][p.node] += v.Spec.GPUsPerReplica
	}
}

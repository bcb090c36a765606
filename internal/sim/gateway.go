package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Routing is how a gateway chooses a replica.
type Routing uint8

// The ways. Ties go round.
const (
	RoundRobin  Routing = iota
	LeastLoaded         // fewest requests, running and waiting
	// KVAware takes the best sum of two scores, as the endpoint picker of llm-d
	// with its queue and KV cache scorers of equal weight: 1 - KV cache usage, and
	// the queue scaled to [0, 1] between the longest and the shortest.
	KVAware
	// Weighted sends to variants by their Weight, whatever replicas they have, and
	// round robin within each: an HTTPRoute with a Service for each variant.
	Weighted
)

// String returns the name of the way.
func (r Routing) String() string {
	switch r {
	case RoundRobin:
		return "round-robin"
	case LeastLoaded:
		return "least-loaded"
	case KVAware:
		return "kv-aware"
	case Weighted:
		return "weighted"
	default:
		return fmt.Sprintf("routing %d", uint8(r))
	}
}

// Routings names the ways.
const Routings = "round-robin, least-loaded, kv-aware or weighted"

// ParseRouting returns the Routing of a name.
func ParseRouting(name string) (Routing, error) {
	for r := RoundRobin; r <= Weighted; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("routing %q is not known, want "+Routings, name)
}

// arrive takes in a request.
func (w *world) arrive(m *model, r workload.Request) {
	if w.keptOut(m) {
		return
	}
	w.admitted(m, request{input: int32(r.InputTokens), output: int32(r.OutputTokens)})
}

// admitted takes in an attempt of a client, its first or one more.
func (w *world) admitted(m *model, r request) {
	r.arrived = w.now
	m.tally.arrived(&r)
	m.shapes.add(int(r.input), int(r.output))
	m.inputTokens += int64(r.input)
	m.crowd.draw(w.now, m.Patience, m.Prefix, &r)
	slot := w.requests.add(r)
	if r.leaves > 0 {
		w.agenda.push(event{at: r.leaves, kind: leaveEvent, model: m, slot: slot})
	}
	if len(m.held) == 0 && w.dispatch(m, slot) {
		return
	}
	if m.Hold == 0 {
		m.tally.rejected(w.requests.at(slot), noReplica)
		w.end(m, slot)
		return
	}
	m.held = append(m.held, slot)
	w.holds(m, slot)
}

// holds books a request that begins to wait for a replica.
func (w *world) holds(m *model, slot uint32) {
	if r := w.requests.at(slot); !r.waited {
		r.waited = true
		m.tally.held(r)
	}
	w.watch(m)
}

// dispatch sends a request to a replica that it goes to first or, if none takes it,
// rejects it. It returns false while no such replica is ready.
func (w *world) dispatch(m *model, slot uint32) bool {
	ready := m.entry.readyPods()
	if len(ready) == 0 {
		return false
	}
	r := w.requests.at(slot)
	req := serving.Request{ID: uint64(slot), InputTokens: int(r.input), OutputTokens: int(r.output)}
	if m.split {
		req.OutputTokens = 1 // all that prefill is asked for
	}
	first := w.route(m, &m.entry)
	var refusal serving.Refusal
	for i := range ready {
		p := ready[(first+i)%len(ready)]
		req.CachedTokens = p.finds(r)
		if refusal = p.replica.Submit(w.now, req); refusal == serving.Accepted {
			r.pod, r.submitted = p, w.now
			p.live++
			p.prompts++
			p.enqueue(r)
			m.sent++
			w.follow(p)
			return true
		}
	}
	m.tally.rejected(r, refusal.String())
	w.end(m, slot)
	return true
}

// door is where the gateway chooses a pod, of some of the variants of a model.
type door struct {
	variants []*variant // sorted by key
	turn     int        // where the gateway begins to look
	ready    []*pod     // of readyPods
}

// readyPods lists the pods of a door that take requests, and keeps them for route.
func (d *door) readyPods() []*pod {
	ready := d.ready[:0]
	for _, v := range d.variants {
		for _, p := range v.pods {
			if p.phase == serves {
				ready = append(ready, p)
			}
		}
	}
	d.ready = ready
	return ready
}

// route returns the index of the ready pod that a request is for. It looks at them in
// turn, from another one each time, and takes the first of the best.
func (w *world) route(m *model, d *door) int {
	ready := d.ready
	d.turn++
	start := d.turn % len(ready)
	if m.Routing == RoundRobin || len(ready) == 1 {
		return start
	}
	if m.Routing == Weighted {
		return d.weighted()
	}
	for _, p := range ready {
		w.settle(p)
		p.badness = float64(p.live + p.pulls)
	}
	if m.Routing == KVAware {
		weighKV(ready)
	}
	best := start
	for i := 1; i < len(ready); i++ {
		if at := (start + i) % len(ready); ready[at].badness < ready[best].badness {
			best = at
		}
	}
	return best
}

// weighted returns the index of the next pod of the variant whose turn it is: each
// earns its weight with every request, and the pod with most pays for one.
func (d *door) weighted() int {
	ready := d.ready
	total := 0.0
	var next *variant
	for i, p := range ready {
		v := p.variant
		if i > 0 && ready[i-1].variant == v {
			continue
		}
		weight := cmp.Or(v.Weight, 1)
		v.credit += weight
		total += weight
		if next == nil || v.credit > next.credit {
			next = v
		}
	}
	next.credit -= total
	first := slices.IndexFunc(ready, func(p *pod) bool { return p.variant == next })
	n := 1
	for first+n < len(ready) && ready[first+n].variant == next {
		n++
	}
	return first + d.turn%n
}

// weighKV makes the badness of pods their KV cache usage plus the scaled queue.
func weighKV(ready []*pod) {
	shortest, longest := math.MaxInt, 0
	for _, p := range ready {
		s := p.replica.Stats()
		p.badness, p.waits = s.KVUsage(), s.Waiting+p.pulls
		shortest, longest = min(shortest, p.waits), max(longest, p.waits)
	}
	spread := float64(max(longest-shortest, 1))
	for _, p := range ready {
		p.badness += float64(p.waits-shortest) / spread
	}
}

// release sends on what is held, oldest first.
func (w *world) release(m *model) {
	sent := 0
	for sent < len(m.held) && w.dispatch(m, m.held[sent]) {
		sent++
	}
	m.held = append(m.held[:0], m.held[sent:]...)
	w.releasePassed(m)
}

// expire lets go the requests that have waited for too long, and looks again
// when the next may have.
func (w *world) expire(m *model) {
	n := 0
	for n < len(m.held) && w.requests.at(m.held[n]).arrived+m.Hold <= w.now {
		m.tally.expired(w.requests.at(m.held[n]))
		w.end(m, m.held[n])
		n++
	}
	m.held = append(m.held[:0], m.held[n:]...)
	w.expirePassed(m)
	m.watched = false
	w.watch(m)
}

// watch sees to it that the oldest request held does not wait for too long.
func (w *world) watch(m *model) {
	if m.watched {
		return
	}
	at := never
	if len(m.held) > 0 {
		at = w.requests.at(m.held[0]).arrived + m.Hold
	}
	if len(m.passed) > 0 {
		at = min(at, w.requests.at(m.passed[0]).passed+m.Hold)
	}
	if at < never {
		m.watched = true
		w.agenda.push(event{at: at, kind: expireEvent, model: m})
	}
}

// end forgets a request whose fate is booked.
func (w *world) end(m *model, slot uint32) {
	m.inputTokens -= int64(w.requests.at(slot).input)
	w.letGo(m, slot)
	w.requests.release(slot)
}

// noReplica is why a request is rejected that finds no replica and no gateway
// that would hold it.
const noReplica = "no replica is ready"

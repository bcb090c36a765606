package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Routing is how a gateway chooses a replica.
type Routing uint8

// The ways of routing. Ties go round.
const (
	RoundRobin  Routing = iota
	LeastLoaded         // fewest requests, running and waiting
	// KVAware takes the replica with the best sum of two scores, as llm-d's endpoint picker does
	// with queue and KV cache scorers of equal weight: 1 - KV cache usage, and the queue scaled to
	// [0, 1] between the longest and the shortest.
	KVAware
	// Weighted sends to variants by their Weight, whatever replicas they have, and round robin
	// within each: an HTTPRoute with a Service for each variant.
	Weighted
)

// String returns the name of the routing.
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

// Routings lists the names of all routings.
const Routings = "round-robin, least-loaded, kv-aware or weighted"

// ParseRouting returns the Routing with a name.
func ParseRouting(name string) (Routing, error) {
	var known []string
	for r := RoundRobin; r <= Weighted; r++ {
		if r.String() == name {
			return r, nil
		}
		known = append(known, r.String())
	}
	return 0, fmt.Errorf("routing %q is not known, want %s%s", name, Routings, spelling.Hint(name, known))
}

// arrive takes in a request of the workload.
func (w *world) arrive(m *model, r workload.Request) {
	if w.keptOut(m) {
		return
	}
	w.admitted(m, request{input: int32(r.InputTokens), output: int32(r.OutputTokens)})
}

// admitted takes in an attempt of a client: its first, or a retry.
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

// holds books that a request begins to wait for a replica.
func (w *world) holds(m *model, slot uint32) {
	if r := w.requests.at(slot); !r.waited {
		r.waited = true
		m.tally.held(r)
	}
	w.watch(m)
}

// dispatch sends a request to an entry replica, or rejects it if every one refuses. It returns
// false while none is ready.
func (w *world) dispatch(m *model, slot uint32) bool {
	ready := m.entry.readyPods()
	if len(ready) == 0 {
		return false
	}
	r := w.requests.at(slot)
	req := serving.Request{ID: uint64(slot), InputTokens: int(r.input), OutputTokens: int(r.output)}
	if m.split {
		req.OutputTokens = 1 // prefill computes one token
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

// door is the choice of a pod among some of the variants of a model.
type door struct {
	variants []*variant // sorted by key
	turn     int        // index at which the gateway begins to look
	ready    []*pod     // result of readyPods
}

// readyPods returns the pods of a door that take requests, and keeps them for route.
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

// route returns the index of the ready pod for the next request. It looks at the pods in turn, from
// another one each time, and takes the first of the best.
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

// weighted returns the index of the next pod, by weighted round robin of the variants: each earns
// its weight with every request, and the variant with most credit gets the request and pays.
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

// weighKV sets the badness of pods to their KV cache usage plus the scaled queue.
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

// release sends on the held requests, oldest first, then those that wait for decode.
func (w *world) release(m *model) {
	sent := 0
	for sent < len(m.held) && w.dispatch(m, m.held[sent]) {
		sent++
	}
	m.held = append(m.held[:0], m.held[sent:]...)
	w.releasePassed(m)
}

// expire ends the requests that have waited for longer than Hold, and schedules the next look.
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

// watch schedules an expireEvent for the oldest request that waits, unless there is one.
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

// end forgets a request that is booked as ended.
func (w *world) end(m *model, slot uint32) {
	m.inputTokens -= int64(w.requests.at(slot).input)
	w.letGo(m, slot)
	w.requests.release(slot)
}

// noReplica is the reason for rejecting a request that finds no replica and no gateway to hold it.
const noReplica = "no replica is ready"

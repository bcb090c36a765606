package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// world is the state of a run.
type world struct {
	cfg      Config
	now      time.Duration
	agenda   agenda
	models   []*model                          // sorted by key
	variants []*variant                        // of all models, sorted by key
	stock    map[string][]scaling.Accelerators // free accelerators of each node, by type; types that are not here never run out
	waiting  []*pod                            // pods without a node, in the order of their creation
	requests slab                              // requests that arrived and have not ended
	policy   Policy
	waking   waking
	wanted   map[*variant]Target // last target of the policy
	missed   *rand.Rand          // draws which scrapes fail; nil means none
	buf      []serving.Event     // for Replica.Advance
	troubles []*trouble
	measured time.Duration // end of the last interval
	decided  uint64        // times that the run asked the policy
	horizon  time.Duration // until when cost counts; meaningful once closed
	closed   bool          // arrivals are over
}

// model is a model at run time.
type model struct {
	*Model
	variants []*variant // sorted by key
	tally    tally

	crowd   crowd
	held    []uint32 // slots of the requests that wait for a first replica, oldest first
	watched bool     // an expireEvent is scheduled
	split   bool     // it is served in prefill and decode
	entry   door     // variants to which requests go first: prefill, or all
	exit    door     // variants of decode, of a model that is served in parts
	passed  []uint32 // slots of the requests that wait for a decode replica, oldest first
	sent    int      // requests submitted to replicas

	ttftBounds, itlBounds []float64 // of its pods' histograms [ms]

	shapes      Shapes           // of the requests that arrived
	inputTokens int64            // of the requests in flight
	pages       []gatewayScraped // oldest first
}

// variant is a variant at run time.
type variant struct {
	*Variant
	model   *model
	pods    []*pod           // not removed, in the order of creation
	leaving []*pod           // removed and not yet gone
	gone    []*pod           // pods that are gone, whose pages may still be within the window
	created scaling.Replicas // pods so far
	draws   *rand.Rand
	tally   VariantReport
	deleted bool    // its target does not exist
	credit  float64 // of weighted routing
}

// newWorld returns the state at the start of a run. c is valid and has its
// defaults.
func newWorld(c Config, policy Policy) (*world, error) {
	w := &world{cfg: c, policy: policy, waking: waking{interval: policy.Interval()}, stock: map[string][]scaling.Accelerators{}, wanted: map[*variant]Target{}}
	if c.MissedScrapes > 0 {
		w.missed = w.stream("missed scrapes")
	}
	for _, n := range c.Nodes {
		w.stock[n.Accelerator] = slices.Repeat([]scaling.Accelerators{n.GPUs}, n.Count)
	}
	if i := w.waking.interval; i < shortestInterval {
		return nil, &FieldError{"interval of policy " + policy.Name(), i.String(), shortestInterval.String() + " or more"}
	}
	for _, given := range c.Models {
		given.Variants = slices.Clone(given.Variants) // runs side by side share a Config
		m := &model{Model: &given, tally: tally{from: c.From, bin: c.Bin}, ttftBounds: ttftBounds(), itlBounds: itlBounds()}
		for j := range m.Variants {
			spec := &m.Variants[j]
			spec.Spec.Model = m.Key
			m.variants = append(m.variants, &variant{Variant: spec, model: m, draws: w.stream(spec.Spec.Key.String())})
		}
		m.crowd = w.newCrowd(m.Key.String())
		slices.SortFunc(m.variants, func(a, b *variant) int { return a.Spec.Key.Compare(b.Spec.Key) })
		m.part()
		w.models = append(w.models, m)
		w.variants = append(w.variants, m.variants...)
	}
	slices.SortFunc(w.models, func(a, b *model) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(w.variants, func(a, b *variant) int { return a.Spec.Key.Compare(b.Spec.Key) })
	for _, v := range w.variants {
		for range v.Replicas {
			if err := w.found(v); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range w.models {
		w.agenda.push(event{at: w.phase(w.stream("gateway " + m.Key.String())), kind: gatewayScrape, model: m})
	}
	w.befall()
	w.listen()
	if c.Sync > 0 {
		// The scaler that carries decisions out has its own phase.
		w.agenda.push(event{at: time.Duration(w.stream("sync").Int64N(int64(c.Sync))), kind: syncEvent})
	}
	w.agenda.push(event{at: c.Interval, kind: intervalEvent})
	return w, nil
}

// stream returns a random stream for one purpose, so that the draws of one part of a run do not
// change the others.
func (w *world) stream(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(w.cfg.Seed, h.Sum64()))
}

// phase draws when a target is first scraped, as an offset within the scrape interval, in whole ms
// like the time of the store.
func (w *world) phase(draws *rand.Rand) time.Duration {
	return time.Duration(draws.Int64N(w.cfg.ScrapeInterval.Milliseconds())) * time.Millisecond
}

// shortestInterval is the least time between two decisions.
const shortestInterval = 100 * time.Millisecond

// at returns the time at an offset.
func (w *world) at(offset time.Duration) time.Time { return w.cfg.Start.Add(offset) }

// handle handles one event.
func (w *world) handle(e event) error {
	w.now = e.at
	switch e.kind {
	case readyEvent:
		if e.pod.phase == starting && e.pod.due == w.now {
			return w.started(e.pod)
		}
	case drainedEvent:
		return w.leave(e.pod, w.drain)
	case killEvent:
		return w.leave(e.pod, w.kill)
	case podScrape:
		w.scrapePod(e.pod)
	case gatewayScrape:
		w.scrapeGateway(e.model)
	case lookEvent:
		w.look()
	case decideEvent:
		if w.now == w.waking.due {
			return w.decide()
		}
	case syncEvent:
		return w.sync()
	case intervalEvent:
		return w.endInterval()
	case expireEvent, leaveEvent, returnEvent, stepEvent, passEvent, movedEvent:
		w.handleRequest(e)
	case beginEvent, endEvent, waveEvent, turnEvent, nodeEvent:
		return w.handleFault(e)
	}
	return nil
}

// leave calls step, drain or kill, if the pod still drains, and gives freed nodes to the pods that
// wait.
func (w *world) leave(p *pod, step func(*pod)) error {
	if p.phase != draining {
		return nil
	}
	step(p)
	return w.place()
}

// settle advances a replica to now and books everything that ended before now.
func (w *world) settle(p *pod) {
	if p.replica == nil || p.settled == w.now {
		return
	}
	p.settled = w.now
	w.buf = p.replica.Advance(w.now-1, w.buf[:0])
	for _, e := range w.buf {
		switch e.Kind {
		case serving.FirstToken:
			r := w.requests.at(uint32(e.ID))
			if !p.prefills() {
				r.first = e.At
				p.pulled += r.moved
			}
			p.unqueue(r)
			p.ttft.add(milliseconds(e.At-r.submitted), 1)
		case serving.Finished:
			w.finish(p, uint32(e.ID), e.At)
		case serving.Admitted:
			p.unqueue(w.requests.at(uint32(e.ID)))
		case serving.Preempted:
			p.enqueue(w.requests.at(uint32(e.ID)))
		case serving.None, serving.Token, serving.Refused, serving.Aborted, serving.Step:
		}
	}
}

// settleAll brings every replica up to now.
func (w *world) settleAll() {
	for _, v := range w.variants {
		for _, p := range v.pods {
			w.settle(p)
		}
		for _, p := range v.leaving {
			w.settle(p)
		}
	}
}

// finish books a request that has its last token.
func (w *world) finish(p *pod, slot uint32, at time.Duration) {
	r := w.requests.at(slot)
	p.live--
	if p.prefills() {
		w.pass(p, slot, at)
		return
	}
	m := p.variant.model
	ttft := milliseconds(r.first - r.arrived)
	itl := 0.0
	if r.output > 1 {
		itl = milliseconds(at-r.first) / float64(r.output-1)
	}
	p.itl.add(itl, float64(r.output-1))
	p.each.add(itl, 1)
	m.tally.finished(m.SLO, outcome{request: r, ttft: ttft, itl: itl, response: milliseconds(at - r.arrived), output: r.output})
	w.end(m, slot)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// conserved checks that the books have every request, with those in replicas as the replicas count
// them.
func (w *world) conserved() error {
	w.settleAll()
	for _, m := range w.models {
		t := &m.tally.total
		inReplicas, between := 0, 0
		for _, v := range m.variants {
			for _, pods := range [][]*pod{v.pods, v.leaving} {
				for _, p := range pods {
					between += p.keeps
					if p.replica == nil {
						continue
					}
					if load := p.replica.Load(); load != p.live {
						return fmt.Errorf("simulation: at %s replica %s holds %d requests and the books say %d", w.now, p.name, load, p.live)
					}
					inReplicas += p.live
				}
			}
		}
		back := m.tally.back
		if sum := t.ended() + back.ended + uint64(len(m.held)+inReplicas+between); t.Arrived+back.arrived != sum {
			return fmt.Errorf("simulation: at %s %d requests of %s arrived and %d came back, and %d finished + %d rejected + %d expired + %d lost + %d abandoned + %d that came back and ended + %d held + %d in replicas + %d between prefill and decode = %d",
				w.now, t.Arrived, m.Key, back.arrived, t.Finished, t.Rejected, t.Expired, t.Lost, t.Abandoned, back.ended, len(m.held), inReplicas, between, sum)
		}
	}
	return nil
}

// inFlight counts the requests of a model that arrived or came back and have not ended.
func (m *model) inFlight() int {
	t := &m.tally
	return int(t.total.Arrived + t.back.arrived - t.total.ended() - t.back.ended)
}

// inFlight counts the requests in the pods of a variant that are not being
// removed. The replicas must be settled.
func (v *variant) inFlight() int {
	n := 0
	for _, p := range v.pods {
		n += p.live + p.pulls
	}
	return n
}

// byKey finds the variant of a key.
func (w *world) byKey(key scaling.VariantKey) (*variant, bool) {
	i, ok := slices.BinarySearchFunc(w.variants, key, func(v *variant, k scaling.VariantKey) int { return v.Spec.Key.Compare(k) })
	if !ok {
		return nil, false
	}
	return w.variants[i], true
}

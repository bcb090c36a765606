package plant

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

const (
	scrape  = 15 * time.Second
	window  = time.Minute
	kept    = int(window / scrape) // ticks that a window spans at most
	forever = time.Duration(math.MaxInt64)
	// gatewayQueue is the queue length of each replica from which a gateway with flow control holds
	// requests: queueDepthThreshold of the endpoint picker.
	gatewayQueue = 5
)

// epoch is when every plant starts.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Tick is the state of the plant at a cycle, before its decision is carried out.
type Tick struct {
	At      time.Duration
	Offered float64 // requests/s
	Waiting float64 // requests, in front of the replicas and in them
	// Capacity is how many requests/s the Ready replicas complete at their best; where each variant
	// has its own part, as many as none of them gets more of than it completes.
	Capacity float64
	// Known says that the load of the model is visible: a Ready pod has a Fresh page, one of each
	// variant in which requests wait, or a gateway counts requests and is not what shares them by variant.
	Known bool
	// Blind says that more Ready pods lack a Fresh page than have one.
	Blind    bool
	Variants []VariantTick // in the order of the Config
	Setup    cycle.Setup
	Case     cycle.Case
	Verdict  cycle.Verdict
}

// VariantTick is a variant at a cycle. Counts are in replicas, as they were for the decision.
type VariantTick struct {
	Current, Ready scaling.Replicas
	Placed         scaling.Replicas // that have a node, and cost
	Bad            scaling.Replicas // affected by a fault in force; of no-node, without a node
	Doomed         scaling.Replicas // of the next ones, those that would crash or find no node
	Waits          float64          // requests in its replicas that are not computed
	Stands         scaling.Replicas // the last desired replicas
	Wanted         scaling.Replicas // the decision
	Deleted        bool
	// Grows says that one more replica would become Ready, within Lead.
	Grows bool
	Lead  time.Duration
}

// plant is the state of a run.
type plant struct {
	Config
	variants []*variant
	draws    *rand.Rand
	held     float64 // requests that wait in front of the replicas
	last     time.Duration
	rates    [kept]float64 // offered at the last ticks, the newest first
	past     memory.History
}

// Run runs c for a time, and calls see for every cycle until it returns false. Equal arguments give
// equal runs.
func Run(c Config, length time.Duration, see func(Tick) bool) {
	w := &plant{Config: c, last: -1, draws: rand.New(rand.NewPCG(1, uint64(len(c.Faults))))}
	for i, v := range c.Variants {
		one := &variant{Variant: v, index: i}
		w.variants = append(w.variants, one)
		for range v.Replicas {
			p := w.add(one, 0)
			p.created, p.placed, p.up = longAgo-v.StartUp, longAgo-v.StartUp, longAgo
			p.scrapedAt, p.scraped, p.ready, p.readyAt = 0, true, true, longAgo
			p.hits = slices.DeleteFunc(p.hits, func(h hit) bool { return w.Faults[h.fault].Kind == fault.NoNode })
			for k := range p.hits {
				p.hits[k].since = 0
			}
		}
	}
	setup := cycle.Setup{Models: map[scaling.ModelKey]settings.Model{c.Model: c.Settings}, Interval: c.Tick}
	for now := time.Duration(0); now < length; now += c.Tick {
		w.befall(now)
		for _, v := range w.variants {
			for _, p := range v.pods {
				w.refresh(p, now)
			}
		}
		offered := w.serve(now)
		in := cycle.Case{Now: w.clock(now), Snapshots: []scaling.Snapshot{w.observe(now, offered)}, History: w.past}
		verdict := setup.Decide(in)
		tick := w.tick(now, offered, in, verdict)
		tick.Setup = setup
		w.past = verdict.History
		for i, v := range w.variants {
			if t := tick.Variants[i]; !v.deleted && !w.ignored(t.Current, t.Wanted) {
				w.scale(v, t.Wanted, now)
			}
		}
		w.last = now
		if !see(tick) {
			return
		}
	}
}

// clock returns the time that the manager's clock shows.
func (w *plant) clock(now time.Duration) time.Time {
	return epoch.Add(now + fault.Offset(w.Faults, now))
}

// ignored reports whether the scaler ignores a decision as within its tolerance.
func (w *plant) ignored(current, wanted scaling.Replicas) bool {
	ratio := float64(wanted) / float64(max(1, current))
	return current > 0 && wanted > 0 && ratio >= 1-w.Tolerance && ratio <= 1+w.Tolerance
}

// best returns the largest rate that a variant completes, requests/s, and its Ready replicas that
// do not stall.
func (w *plant) best(v *variant) (capacity float64, ready scaling.Replicas) {
	for _, p := range v.pods {
		if p.ready && !p.stalls {
			ready++
		}
	}
	return w.Best(v.Variant) * float64(ready), ready
}

// stall sends stalling replicas their part of the offered rate and returns the rest. Requests that
// wait in replicas that no longer stall move to the backlog of their variant.
func (w *plant) stall(offered float64) float64 {
	ready, stalled := 0, 0
	for _, v := range w.variants {
		for _, p := range v.pods {
			if p.ready {
				ready++
			}
			if p.stalls {
				stalled++
			} else {
				v.backlog += p.held
				p.held = 0
			}
		}
	}
	if stalled == 0 {
		return offered
	}
	each := offered / float64(ready)
	for _, v := range w.variants {
		for _, p := range v.pods {
			if p.stalls {
				p.held = min(p.held+each*w.Tick.Seconds(), each*w.Patience.Seconds())
			}
		}
	}
	return each * float64(ready-stalled)
}

// serve moves the requests of a tick: they arrive, are served and wait. It returns the offered
// rate.
func (w *plant) serve(now time.Duration) float64 {
	offered := w.Load(now)
	if slices.ContainsFunc(w.Faults, func(f fault.Fault) bool { return f.KeepsOut(w.Model, now) }) {
		offered = 0
	}
	copy(w.rates[1:], w.rates[:kept-1])
	w.rates[0] = offered
	whole := offered
	offered = w.stall(offered)
	shares, total, ready := w.shares()
	seconds := w.Tick.Seconds()
	switch {
	case ready == 0 && offered < whole: // all stall
	case ready == 0:
		w.held += offered * seconds
		if !w.Gateway {
			w.held = 0 // refused: no replica takes them
		}
		for _, v := range w.variants {
			v.backlog = 0
		}
	case w.Spread == Even:
		waits := w.held
		for _, v := range w.variants {
			waits += v.backlog
		}
		waits = max(0, waits+(offered-total)*seconds)
		inside := waits
		if w.Gateway {
			inside = min(waits, gatewayQueue*float64(ready))
		}
		w.held = waits - inside
		for i, v := range w.variants {
			v.backlog = inside * shares[i]
		}
	default:
		for i, v := range w.variants {
			can, n := w.best(v)
			if n == 0 {
				v.backlog = 0 // lost with the replicas
				continue
			}
			v.backlog = max(0, v.backlog+shares[i]*w.held+(shares[i]*offered-can)*seconds)
		}
		w.held = 0
	}
	w.giveUp(offered)
	w.fill(offered, shares)
	return whole
}

// shares returns the share of the requests that each variant gets, the largest rate that all Ready
// replicas complete, and their number.
func (w *plant) shares() (shares []float64, total float64, ready scaling.Replicas) {
	shares, sum := make([]float64, len(w.variants)), 0.0
	for i, v := range w.variants {
		can, n := w.best(v)
		total, ready = total+can, ready+n
		switch {
		case n == 0:
		case w.Spread == RoundRobin:
			shares[i] = float64(n)
		case w.Spread == Weighted:
			shares[i] = max(v.Weight, 1e-9)
		default:
			shares[i] = can
		}
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= max(sum, 1e-300)
	}
	return shares, total, ready
}

// carries returns the largest rate of which no variant gets more than it completes, 0 where none is
// Ready.
func (w *plant) carries() float64 {
	shares, _, ready := w.shares()
	if ready == 0 {
		return 0
	}
	least := math.Inf(1)
	for i, v := range w.variants {
		if can, n := w.best(v); n > 0 {
			least = min(least, can/shares[i])
		}
	}
	return least
}

// giveUp removes requests that have waited for too long: no more wait than arrive within the
// patience of a client.
func (w *plant) giveUp(offered float64) {
	waits := w.held
	for _, v := range w.variants {
		waits += v.backlog
	}
	most := slices.Max(w.rates[:])
	if limit := max(most, offered) * w.Patience.Seconds(); waits > limit {
		part := limit / waits
		w.held *= part
		for _, v := range w.variants {
			v.backlog *= part
		}
	}
}

// fill stores the KV cache usage and the queue of each replica.
func (w *plant) fill(offered float64, shares []float64) {
	for i, v := range w.variants {
		_, ready := w.best(v)
		n, queue := w.running(v, offered*shares[i], max(1, ready))
		for _, p := range v.pods {
			copy(p.usage[1:], p.usage[:kept-1])
			copy(p.queue[1:], p.queue[:kept-1])
			p.usage[0], p.queue[0] = 0, 0
			if p.ready {
				p.usage[0], p.queue[0] = min(1, n*w.Tokens()/v.KVTokens), queue
			}
			if p.stalls { // one long request is left
				p.usage[0], p.queue[0] = min(1, w.Tokens()/v.KVTokens), math.Floor(p.held)
			}
		}
	}
}

// running returns how many requests run and wait in each Ready replica of a variant with a rate in
// requests/s.
func (w *plant) running(v *variant, rate float64, ready scaling.Replicas) (n, queue float64) {
	queue = math.Floor(v.backlog / float64(ready))
	if queue >= 1 || w.held >= 1 {
		return w.Batch(v.Variant), queue
	}
	return w.batchAt(v.Variant, rate/float64(ready)), queue
}

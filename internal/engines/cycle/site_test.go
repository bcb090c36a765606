package cycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// site is a model of several variants in which requests are a fluid. They arrive at a rate,
// replicas serve them as their profile says, and the rest waits. Readings show the mean over a
// window. Decisions take effect after a delay.
type site struct {
	variants []scaling.Variant // with profiles and the replicas at the start
	settings settings.Model
	rate     func(t time.Duration) float64 // requests/s
	startUp  time.Duration
	tick     time.Duration
	window   time.Duration // over which the measured rate is a mean; 0 shows it at once
	noise    *rand.Rand    // of every measured rate; nil: none
	spread   float64       // largest noise, relative to the rate
	policy   constrain.Pacing
	blind    func(t time.Duration) bool          // whether the readings fail; nil: never
	off      func(t time.Duration) time.Duration // by how much the clock is wrong; nil: not at all
	gateway  bool                                // requests wait there, not in replicas
	cold     bool                                // the replicas of the start are created at the start
	gives    time.Duration                       // how long clients wait; 0: for ever

	after   func(t time.Duration) // runs after each cycle; nil: nothing
	created [][]time.Duration     // by variant, when each replica was created
	backlog float64
	past    memory.History
	targets [][]scaling.Replicas // by cycle, then variant
	ready   []float64
	last    Verdict
}

// The requests of the site, and a replica's memory for them.
const (
	siteInput, siteOutput = 256.0, 128.0
	siteKV                = 40_000.0 // tokens of a replica's KV cache
)

var siteModel = scaling.ModelKey{Namespace: "ns", ID: "m"}

// siteVariant returns a variant with the published profile of an A100, but fast times as fast.
func siteVariant(name string, cost, fast float64, replicas scaling.Replicas) scaling.Variant {
	return scaling.Variant{
		Key: scaling.VariantKey{Namespace: "ns", Name: name}, Model: siteModel, Cost: cost, CostSource: scaling.CostVariant,
		Accelerator: name, GPUsPerReplica: 1, Bounds: scaling.Unbounded(),
		Target:   scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
		Profile:  scaling.Profile{Source: "test", Alpha: 20.58 / fast, Beta: 0.41 / fast, Gamma: 5.2 / fast, Delta: 0.01 / fast, MaxBatchSize: 64},
		Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas},
	}
}

// total returns how long a request takes in ms with n in the batch, without its wait.
func total(p scaling.Profile, n float64) float64 {
	return p.Gamma + p.Delta*siteInput*n + (siteOutput-1)*(p.Alpha+p.Beta*n)
}

// most returns how many requests/s a replica completes with full batches.
func most(p scaling.Profile) float64 {
	return 1000 * float64(p.MaxBatchSize) / total(p, float64(p.MaxBatchSize))
}

// batchAt returns how many requests a replica computes together at a rate: n = rate x total(n),
// which is linear in n.
func batchAt(p scaling.Profile, rate float64) float64 {
	fixed := total(p, 0)
	slope := total(p, 1) - fixed
	if left := 1 - rate/1000*slope; left > 0 {
		return min(rate/1000*fixed/left, float64(p.MaxBatchSize))
	}
	return float64(p.MaxBatchSize)
}

// run runs the site for a length, and returns the sum of the targets of each cycle.
func (s *site) run(length time.Duration) []scaling.Replicas {
	s.past = memory.History{}
	s.created = make([][]time.Duration, len(s.variants))
	began := -time.Hour
	if s.cold {
		began = 0
	}
	for i, v := range s.variants {
		for range v.Replicas.Current {
			s.created[i] = append(s.created[i], began)
		}
	}
	var sums []scaling.Replicas
	for t := time.Duration(0); t < length; t += s.tick {
		s.serve(t)
		how := s.settings
		how.Pacing = s.policy
		setup := Setup{Models: map[scaling.ModelKey]settings.Model{siteModel: how}, Interval: s.tick}
		s.last = setup.Decide(Case{Now: s.clock(t), Snapshots: []scaling.Snapshot{s.observe(t)}, History: s.past})
		s.past = s.last.History
		targets, sum := make([]scaling.Replicas, len(s.variants)), scaling.Replicas(0)
		for i, v := range s.variants {
			for _, d := range s.last.Plan.Decisions {
				if d.Variant == v.Key {
					targets[i] = d.Target()
				}
			}
			for scaling.Replicas(len(s.created[i])) < targets[i] {
				s.created[i] = append(s.created[i], t)
			}
			s.created[i] = s.created[i][:targets[i]]
			sum += targets[i]
		}
		if s.after != nil {
			s.after(t)
		}
		s.targets, sums = append(s.targets, targets), append(sums, sum)
	}
	return sums
}

// up returns the Ready replicas of a variant, and when the youngest became Ready.
func (s *site) up(i int, t time.Duration) (ready scaling.Replicas, newest time.Duration) {
	newest = -time.Hour
	for _, created := range s.created[i] {
		if created+s.startUp <= t {
			ready++
			newest = max(newest, created+s.startUp)
		}
	}
	return ready, newest
}

// serve lets requests arrive and be served for the tick up to t.
func (s *site) serve(t time.Duration) {
	capacity := 0.0
	for i, v := range s.variants {
		ready, _ := s.up(i, t)
		capacity += float64(ready) * most(v.Profile)
	}
	s.ready = append(s.ready, capacity)
	s.backlog = max(0, s.backlog+(s.rate(t)-capacity)*s.tick.Seconds())
	if s.gives > 0 {
		s.backlog = min(s.backlog, s.rate(t)*s.gives.Seconds())
	}
}

// clock returns what the clock shows at t.
func (s *site) clock(t time.Duration) time.Time {
	if s.off != nil {
		t += s.off(t)
	}
	return now.Add(t)
}

// measured returns the rate that the readings show.
func (s *site) measured(t time.Duration) float64 {
	sum, n := 0.0, 0
	for back := time.Duration(0); back <= s.window; back += s.tick {
		sum += s.rate(max(0, t-back))
		n++
	}
	rate := sum / float64(n)
	if s.noise != nil {
		rate *= 1 + s.spread*(2*s.noise.Float64()-1)
	}
	return rate
}

func (s *site) observe(t time.Duration) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	snap := scaling.Snapshot{Model: siteModel, At: s.clock(t), Window: max(time.Minute, s.window)}
	rate, replicas, latency, prefill, weight := s.measured(t), scaling.Replicas(0), 0.0, 0.0, 0.0
	for i, v := range s.variants {
		ready, newest := s.up(i, t)
		v.StartUp = s.startUp
		v.Replicas = scaling.ReplicaCounts{
			Observed: true, Current: scaling.Replicas(len(s.created[i])), Ready: ready, Pending: scaling.Replicas(len(s.created[i])) - ready, NewestReady: now.Add(newest),
		}
		snap.Variants = append(snap.Variants, v)
		replicas += ready
	}
	share := min(1, rate/max(1e-9, s.ready[len(s.ready)-1])) // load as a share of what each replica completes with full batches
	for _, v := range snap.Variants {
		n := batchAt(v.Profile, share*most(v.Profile))
		if s.backlog >= 1 {
			n = float64(v.Profile.MaxBatchSize)
		}
		for p := range v.Replicas.Ready {
			waiting := 0.0
			if !s.gateway {
				waiting = math.Floor(s.backlog / float64(replicas))
			}
			usage := n * (siteInput + siteOutput/2) / siteKV
			snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprintf("%s-%d", v.Key.Name, p), Variant: v.Key, Ready: true, At: snap.At, KVCapacity: fresh(siteKV), Running: fresh(n),
				KVCacheUsage: fresh(min(1, usage)), KVCacheUsageNow: fresh(min(1, usage)), QueueLength: fresh(waiting), QueueLengthNow: fresh(waiting),
			})
		}
		latency += (v.Profile.Alpha + v.Profile.Beta*n) * float64(v.Replicas.Ready) * most(v.Profile)
		prefill += (v.Profile.Gamma + v.Profile.Delta*siteInput*n) * float64(v.Replicas.Ready) * most(v.Profile)
		weight += float64(v.Replicas.Ready) * most(v.Profile)
	}
	snap.Load = scaling.Load{
		ArrivalRate: fresh(rate), InputTokens: fresh(siteInput), OutputTokens: fresh(siteOutput),
		ITL: fresh(latency / max(1e-9, weight)), TTFT: fresh(prefill/max(1e-9, weight) + 1000*s.backlog/max(1e-9, weight)),
		GatewayQueue: scaling.Reading{State: scaling.NotApplicable}, PrefixHits: scaling.Reading{State: scaling.NotApplicable},
	}
	if s.gateway {
		snap.Load.GatewayQueue = fresh(s.backlog)
		snap.Load.TTFT = fresh(prefill / max(1e-9, weight))
	}
	if rate == 0 {
		snap.Load.TTFT, snap.Load.ITL = scaling.Reading{State: scaling.NotApplicable}, scaling.Reading{State: scaling.NotApplicable}
	}
	if s.blind != nil && s.blind(t) {
		snap.Load = scaling.Load{}
		for i, r := range snap.Replicas {
			snap.Replicas[i] = scaling.ReplicaSample{Pod: r.Pod, Variant: r.Variant, Ready: true}
		}
	}
	return snap
}

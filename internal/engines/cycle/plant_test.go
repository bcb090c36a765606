package cycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// plant is a model of one variant. Its load spreads evenly over its Ready replicas, readings show
// the peak of a window, and decisions take effect after a delay.
type plant struct {
	demand  func(t time.Duration) float64 // KV cache usage if one replica had all of the load
	startUp time.Duration
	window  time.Duration
	tick    time.Duration
	sync    time.Duration // interval at which the scaler reads the decision
	scrape  time.Duration // between scrapes; 0: every tick
	stuck   bool          // pods ordered never become Ready
	healthy int           // replicas at the start; 0: one
	noise   *rand.Rand    // of each scrape; nil: none
	spread  float64       // standard deviation of the noise, relative to the usage
	policy  constrain.Pacing
	ask     func(t time.Duration, v scaling.Variant) scaling.Variant // changes the object; nil: nothing
	after   func(t time.Duration, h memory.History) memory.History   // changes the memory after a cycle; nil: nothing

	replicas []time.Duration // when each was created
	scrapes  []scraped       // oldest first
	past     memory.History
	ordered  scaling.Replicas // most replicas ever decided on
	signals  []scaling.Signal
}

func (p *plant) run(length time.Duration) (targets []scaling.Replicas) {
	p.past = memory.History{}
	p.replicas = slices.Repeat([]time.Duration{-time.Hour}, max(1, p.healthy))
	for t := time.Duration(0); t < length; t += p.tick {
		snap := p.observe(t)
		verdict := Setup{Models: map[scaling.ModelKey]settings.Model{snap.Model: withPace(p.policy)}}.Decide(Case{
			Cycle: scaling.CycleID(fmt.Sprint("p-", t)), Now: now.Add(t), Snapshots: []scaling.Snapshot{snap}, History: p.past,
		})
		p.past = verdict.History
		if p.after != nil {
			p.past = p.after(t, p.past)
		}
		p.signals = append(p.signals, verdict.Analyses[0].Signal)
		target := verdict.Plan.Decisions[0].Target()
		p.ordered = max(p.ordered, target)
		targets = append(targets, target)
		if t%p.sync == 0 {
			for scaling.Replicas(len(p.replicas)) < target {
				p.replicas = append(p.replicas, t)
			}
			p.replicas = p.replicas[:target]
		}
	}
	return targets
}

func (p *plant) ready(t time.Duration) (ready scaling.Replicas, newest time.Duration) {
	newest = -time.Hour
	for i, created := range p.replicas {
		if created+p.startUp > t || p.stuck && i >= max(1, p.healthy) {
			continue
		}
		ready++
		newest = max(newest, created+p.startUp)
	}
	return ready, newest
}

// scraped is the result of one scrape of the replicas.
type scraped struct {
	at    time.Duration
	usage float64
}

// measure scrapes the replicas when a scrape is due. It returns the peak of the window and the last
// value, as a store would. The load of a removed replica disappears at once, and the other replicas
// show it at their next scrape.
func (p *plant) measure(t time.Duration, ready scaling.Replicas) (peak, last float64) {
	if n := len(p.scrapes); n == 0 || t-p.scrapes[n-1].at >= p.scrape {
		usage := p.demand(t) / float64(ready)
		if p.noise != nil {
			usage *= 1 + p.spread*p.noise.NormFloat64()
		}
		p.scrapes = append(p.scrapes, scraped{t, min(1, max(0, usage))})
	}
	for _, s := range slices.Backward(p.scrapes) {
		if t-s.at > p.window {
			break
		}
		peak = max(peak, s.usage)
	}
	return peak, p.scrapes[len(p.scrapes)-1].usage
}

func (p *plant) observe(t time.Duration) scaling.Snapshot {
	ready, newest := p.ready(t)
	peak, usage := p.measure(t, ready)
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	snap := scaling.Snapshot{Model: model, At: now.Add(t), Window: p.window, Variants: []scaling.Variant{{
		Key: key, Model: model, Cost: 10, Bounds: scaling.Unbounded(), StartUp: p.startUp,
		Replicas: scaling.ReplicaCounts{
			Observed: true, Current: scaling.Replicas(len(p.replicas)), Ready: ready, Pending: scaling.Replicas(len(p.replicas)) - ready, NewestReady: now.Add(newest),
		},
	}}}
	if p.ask != nil {
		snap.Variants[0] = p.ask(t, snap.Variants[0])
	}
	for i := range ready {
		snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
			Pod: fmt.Sprintf("v-%d", i), Variant: key, Ready: true, At: snap.At,
			KVCacheUsage: scaling.Measured(peak, scaling.Fresh), QueueLength: scaling.Measured(0, scaling.Fresh),
			KVCacheUsageNow: scaling.Measured(usage, scaling.Fresh), QueueLengthNow: scaling.Measured(0, scaling.Fresh),
		})
	}
	return snap
}

// growthPoint is the usage of a replica at which the default policy grows.
const growthPoint = 0.80 - 0.1

// TestConstantDemandOrdersNoMoreThanItNeeds is rule 4, with delays that make autoscalers order too
// much: slow starts, a slow scaler, and peaks that outlast the load.
func TestConstantDemandOrdersNoMoreThanItNeeds(t *testing.T) {
	for _, demand := range race.Some([]float64{0.3, 0.71, 1.5, 2.9, 4.1}) {
		for _, startUp := range []time.Duration{5 * time.Second, 90 * time.Second, 4 * time.Minute} {
			for _, tick := range []time.Duration{5 * time.Second, time.Minute} {
				for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
					t.Run(fmt.Sprintf("demand %g, start-up %s, tick %s, window %s", demand, startUp, tick, window), func(t *testing.T) {
						p := plant{demand: func(time.Duration) float64 { return demand }, startUp: startUp, window: window, tick: tick, sync: 15 * time.Second}
						if tick > p.sync {
							p.sync = tick
						}
						targets := p.run(2 * time.Hour)
						need := max(1, scaling.Replicas(math.Ceil(demand/growthPoint)))
						if p.ordered > need+1 {
							t.Errorf("ordered %d replicas for a demand that needs %d", p.ordered, need)
						}
						if last := targets[len(targets)-1]; last < need {
							t.Errorf("ended with %d replicas for a demand that needs %d", last, need)
						}
					})
				}
			}
		}
	}
}

// TestConstantDemandComesToRest: at constant demand the fleet stops growing and shrinking.
func TestConstantDemandComesToRest(t *testing.T) {
	for i := range race.Cases(70) {
		demand := 0.1 + 0.07*float64(i)
		p := plant{demand: func(time.Duration) float64 { return demand }, startUp: 20 * time.Second, window: time.Minute, tick: 5 * time.Second, sync: 15 * time.Second}
		targets := p.run(2 * time.Hour)
		tail := targets[len(targets)/2:]
		if slices.Min(tail) != slices.Max(tail) {
			t.Errorf("demand %.2f: still between %d and %d replicas after an hour", demand, slices.Min(tail), slices.Max(tail))
		}
	}
}

func TestLoadThatComesAndGoesIsFollowed(t *testing.T) {
	p := plant{
		demand: func(t time.Duration) float64 {
			if t > 10*time.Minute && t < 40*time.Minute {
				return 2.5
			}
			return 0.2
		},
		startUp: 30 * time.Second, window: time.Minute, tick: 5 * time.Second, sync: 15 * time.Second,
	}
	targets := p.run(time.Hour)
	if got := slices.Max(targets); got != 4 {
		t.Errorf("rose to %d replicas, want 4", got)
	}
	if got := targets[len(targets)-1]; got != 1 {
		t.Errorf("ended with %d replicas, want 1", got)
	}
}

// TestPodsThatNeverStartAreOrderedOnce: while ordered pods do not start, a model does not keep
// ordering more. The orders stay within half of the serving replicas.
func TestPodsThatNeverStartAreOrderedOnce(t *testing.T) {
	p := plant{demand: func(time.Duration) float64 { return 2 }, startUp: 20 * time.Second, window: time.Minute, tick: 5 * time.Second, sync: 15 * time.Second, stuck: true}
	p.run(2 * time.Hour)
	if p.ordered > 3 {
		t.Errorf("ordered %d replicas while none started", p.ordered)
	}
	p = plant{demand: func(time.Duration) float64 { return 10 }, healthy: 10, startUp: 20 * time.Second, window: time.Minute, tick: 15 * time.Second, sync: 15 * time.Second, stuck: true}
	p.run(2 * time.Hour)
	if need := scaling.Replicas(math.Ceil(10 / growthPoint)); p.ordered > need+6 {
		t.Errorf("ordered %d replicas, 10 of which serve, while none started; the load needs %d", p.ordered, need)
	}
}

// TestReductionStopsAtWhatIsNeeded: the load of a removed replica disappears from the
// readings at once, and the other replicas show it late. Still the fleet does not shrink
// below what the load needs.
func TestReductionStopsAtWhatIsNeeded(t *testing.T) {
	for _, scrape := range race.Some([]time.Duration{15 * time.Second, 30 * time.Second, time.Minute}) {
		for _, tick := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
			for healthy, demand := range map[int]float64{4: 1.2, 8: 2.6} {
				p := plant{
					demand: func(time.Duration) float64 { return demand }, healthy: healthy, scrape: scrape, tick: tick,
					startUp: 90 * time.Second, window: max(time.Minute, 4*scrape), sync: 15 * time.Second,
				}
				if tick > p.sync {
					p.sync = tick
				}
				targets := p.run(time.Hour)
				need := scaling.Replicas(math.Ceil(demand / growthPoint))
				if least := slices.Min(targets); least < need {
					t.Errorf("scrape %s, tick %s: %d replicas came down to %d, the load needs %d", scrape, tick, healthy, least, need)
				}
				if last := targets[len(targets)-1]; last > need+1 {
					t.Errorf("scrape %s, tick %s: %d replicas came down to %d only, the load needs %d", scrape, tick, healthy, last, need)
				}
			}
		}
	}
}

// TestNoiseDoesNotMakeAFleetGoUpAndDown: a constant load with noise, at the worst value:
// one replica fewer would be just too few.
func TestNoiseDoesNotMakeAFleetGoUpAndDown(t *testing.T) {
	for seed := range uint64(race.Cases(10)) {
		for _, spread := range []float64{0.02, 0.05} {
			p := plant{
				demand: func(time.Duration) float64 { return 2.75 }, scrape: 15 * time.Second, tick: 15 * time.Second, startUp: 90 * time.Second,
				window: time.Minute, sync: 15 * time.Second, noise: rand.New(rand.NewPCG(seed, 2)), spread: spread,
			}
			targets := p.run(3 * time.Hour)
			changes := 0
			for i := 1; i < len(targets); i++ {
				if targets[i] != targets[i-1] {
					changes++
				}
			}
			// Up to six replicas, one at a time, and at most one step back.
			if changes > 8 {
				t.Errorf("seed %d, noise %g: %d changes in 3 hours", seed, spread, changes)
			}
		}
	}
}

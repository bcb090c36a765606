package cycle

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// plant is a model of one variant whose load spreads evenly over its Ready
// replicas, as seen through readings that peak over a window. It carries the
// decisions out after a delay.
type plant struct {
	demand  func(t time.Duration) float64 // KV usage of one replica that had it all
	startUp time.Duration
	window  time.Duration
	tick    time.Duration
	sync    time.Duration // of the scaler: it reads the decision this often
	stuck   bool          // pods never become Ready

	replicas []time.Duration // when each was created
	peaks    []float64       // mean usage at each tick
	past     scaling.History
	ordered  int // most replicas ever decided on
}

func (p *plant) run(length time.Duration) (targets []int) {
	p.past = scaling.History{}
	p.replicas = []time.Duration{-time.Hour}
	for t := time.Duration(0); t < length; t += p.tick {
		verdict := Decide(Case{Now: now.Add(t), Snapshots: []scaling.Snapshot{p.observe(t)}, History: p.past}, analyze)
		p.past = verdict.History
		target := verdict.Plan.Decisions[0].Target()
		p.ordered = max(p.ordered, target)
		targets = append(targets, target)
		if t%p.sync == 0 {
			for len(p.replicas) < target {
				p.replicas = append(p.replicas, t)
			}
			p.replicas = p.replicas[:target]
		}
	}
	return targets
}

func (p *plant) ready(t time.Duration) (ready int, newest time.Duration) {
	newest = -time.Hour
	for i, created := range p.replicas {
		if created+p.startUp > t || p.stuck && i > 0 {
			continue
		}
		ready++
		newest = max(newest, created+p.startUp)
	}
	return ready, newest
}

func (p *plant) observe(t time.Duration) scaling.Snapshot {
	ready, newest := p.ready(t)
	usage := math.Min(1, p.demand(t)/float64(ready))
	p.peaks = append(p.peaks, usage)
	peak := slices.Max(p.peaks[max(0, len(p.peaks)-int(p.window/p.tick)):])
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	snap := scaling.Snapshot{Model: model, At: now.Add(t), Window: p.window, Variants: []scaling.Variant{{
		Key: key, Model: model, Cost: 10, Bounds: scaling.Unbounded(), StartUp: p.startUp,
		Replicas: scaling.ReplicaCounts{
			Observed: true, Current: len(p.replicas), Ready: ready, Pending: len(p.replicas) - ready, NewestReady: now.Add(newest),
		},
	}}}
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

// TestConstantDemandOrdersNoMoreThanItNeeds is rule 4, with the delays that
// make autoscalers cascade: slow starts, a slow scaler, and peaks that outlive
// the load that made them.
func TestConstantDemandOrdersNoMoreThanItNeeds(t *testing.T) {
	for _, demand := range []float64{0.3, 0.71, 1.5, 2.9, 4.1} {
		for _, startUp := range []time.Duration{5 * time.Second, 90 * time.Second, 4 * time.Minute} {
			for _, tick := range []time.Duration{5 * time.Second, time.Minute} {
				for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
					t.Run(fmt.Sprintf("demand %g, start-up %s, tick %s, window %s", demand, startUp, tick, window), func(t *testing.T) {
						p := plant{demand: func(time.Duration) float64 { return demand }, startUp: startUp, window: window, tick: tick, sync: 15 * time.Second}
						if tick > p.sync {
							p.sync = tick
						}
						targets := p.run(2 * time.Hour)
						need := max(1, int(math.Ceil(demand/growthPoint)))
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

// TestConstantDemandComesToRest: no demand makes the fleet go up and down for
// ever.
func TestConstantDemandComesToRest(t *testing.T) {
	for demand := 0.1; demand < 5; demand += 0.07 {
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

// TestPodsThatNeverStartAreOrderedOnce: with half of its pods unable to start a
// model does not order one more after another.
func TestPodsThatNeverStartAreOrderedOnce(t *testing.T) {
	p := plant{demand: func(time.Duration) float64 { return 2 }, startUp: 20 * time.Second, window: time.Minute, tick: 5 * time.Second, sync: 15 * time.Second, stuck: true}
	p.run(2 * time.Hour)
	if p.ordered > 3 {
		t.Errorf("ordered %d replicas while none started", p.ordered)
	}
}

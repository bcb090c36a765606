package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// wanderer sets the replicas of two variants at random every six minutes, and remembers
// what the shares of requests look like to the analyzer.
type wanderer struct {
	dice    *rand.Rand
	traffic memory.Traffic
	backlog memory.Backlog
	by      int // looks at which they were said to be by variant
	looks   int
}

func (*wanderer) Name() string            { return "wanderer" }
func (*wanderer) Interval() time.Duration { return time.Minute }

func (w *wanderer) Decide(v View) ([]Target, error) {
	snap, waits := v.Snapshots[0], 0.0
	for _, r := range snap.Replicas {
		waits += r.Waiting().Or(0)
	}
	w.backlog = w.backlog.Then(waits, snap.At, snap.Window)
	w.traffic = queueing.Remember(w.traffic, snap, w.backlog, time.Minute, scaling.Objective{TTFT: 1000, ITL: 60}).Traffic
	if w.traffic.Shares.ByVariant {
		w.by++
	}
	if w.looks++; w.looks%6 != 0 {
		return nil, nil
	}
	var out []Target
	for _, s := range snap.Variants {
		out = append(out, Target{Variant: s.Key, Replicas: scaling.Replicas(1 + w.dice.IntN(8))})
	}
	return out, nil
}

// wander runs four hours of a fleet whose second variant is slower, or has a larger KV
// cache, or both, behind a gateway, with profiles that are wrong by up to a third.
func wander(t *testing.T, routing Routing, seed uint64) *wanderer {
	t.Helper()
	d := dice.New(seed, 2)
	w := &wanderer{dice: rand.New(rand.NewPCG(seed, 1))}
	rate := d.Between(6, 20)
	requests := workload.WithoutError(workload.Generate(simtest.Rates(t, fmt.Sprintf("sine(%.2f->%.2f,50m,4h)", rate/2, rate)), simtest.ShareGPT(t), rand.New(rand.NewPCG(seed, 0))))
	m := testModel(requests)
	m.Routing, m.Variants = routing, []Variant{testVariant("a"), testVariant("b")}
	m.Variants[0].Weight, m.Variants[1].Weight = d.Between(0.5, 2), d.Between(0.5, 2)
	m.Variants[1].Profile = simtest.Slower(simtest.Profile(dice.Pick(d, 16384, 65536, 262144)), dice.Pick(d, 1, 1.5, 3))
	for i, v := range m.Variants {
		m.Variants[i].Spec.Profile = stated(v.Profile, d.Between(0.75, 1.33))
		m.Variants[i].Replicas = scaling.Replicas(1 + d.IntN(8))
	}
	if _, err := Run(t.Context(), Config{Seed: seed, Models: []Model{m}}, w); err != nil {
		t.Fatal(err)
	}
	return w
}

// stated is a profile as an autoscaler knows it, so many times too slow.
func stated(p serving.Profile, times float64) scaling.Profile {
	return scaling.Profile{
		Source: "test",
		Alpha:  p.AlphaMS * times, Beta: p.BetaMS * times, Gamma: p.GammaMS * times, Delta: p.DeltaMS * times, MaxBatchSize: p.MaxBatchSize,
	}
}

// TestSharesByVariantAreToldFromThoseByReplica: whatever a gateway that treats replicas
// alike does, and however many of each there are, requests are not said to be shared out by
// variant; those of a route with weights are, most of the time.
func TestSharesByVariantAreToldFromThoseByReplica(t *testing.T) {
	const seeds = 4
	for _, routing := range race.Some([]Routing{RoundRobin, LeastLoaded, KVAware, Weighted}) {
		t.Run(routing.String(), func(t *testing.T) {
			t.Parallel()
			by, looks := 0, 0
			for seed := range uint64(race.Cases(seeds)) {
				w := wander(t, routing, seed+1)
				by, looks = by+w.by, looks+w.looks
				if w.by > 0 && routing != Weighted {
					t.Errorf("seed %d: by variant in %d of %d looks", seed+1, w.by, w.looks)
				}
			}
			if routing == Weighted && 2*by < looks {
				t.Errorf("by variant in %d of %d looks", by, looks)
			}
		})
	}
}

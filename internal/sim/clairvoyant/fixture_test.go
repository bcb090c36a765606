package clairvoyant

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// chat opens a synthetic workload again and again.
func chat(tb testing.TB, profile string, seed uint64) Arrivals {
	tb.Helper()
	return func(scaling.ModelKey) iter.Seq2[workload.Request, error] {
		return simtest.Chat(tb, profile, seed)
	}
}

// variant is an 8B model on an L40S, roughly, with a KV cache of 20 GB; faster
// and dearer by factors.
func variant(name string, faster, price float64) sim.Variant {
	return sim.Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: name}, Accelerator: "L40S",
			GPUsPerReplica: 1, Cost: price, Bounds: scaling.Unbounded(),
		},
		Profile: simtest.Slower(simtest.Profile(65536), 1/faster),
		StartUp: sim.StartUp{Mean: 40 * time.Second}, Replicas: 1, Grace: 30 * time.Second,
	}
}

func config(duration time.Duration, variants ...sim.Variant) sim.Config {
	return sim.Config{Seed: 1, Duration: duration, Models: []sim.Model{{
		Key: scaling.ModelKey{Namespace: "ns", ID: "m"}, SLO: sim.SLO{TTFT: 1000, ITL: 60, Attainment: 0.9},
		Routing: sim.LeastLoaded, Hold: time.Minute, Variants: variants,
	}}}
}

// instance draws a small run: its models, variants, objectives and traffic.
func instance(t *testing.T, seed uint64) (sim.Config, Arrivals) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	minutes := 2 + rng.IntN(2)
	traffic := []string{"constant(%.2f,%dm)", "gamma(%.2f,%dm,cv=3)", "onoff(%.2f,40s,50s,%dm)"}[rng.IntN(3)]
	profile := fmt.Sprintf(traffic, 0.1+6*rng.Float64()*rng.Float64(), minutes)
	variants := []sim.Variant{variant("a", 1, 2)}
	if rng.IntN(2) == 0 {
		faster := 1 + 3*rng.Float64()
		variants = append(variants, variant("b", faster, 2*faster*(0.6+rng.Float64())))
	}
	for i := range variants {
		variants[i].StartUp = sim.StartUp{Mean: time.Duration(rng.IntN(60)) * time.Second, Deviation: time.Duration(rng.IntN(10)) * time.Second}
		variants[i].Profile.KVCacheTokens = 16384 << rng.IntN(3)
		variants[i].Grace = time.Duration(rng.IntN(2)) * 30 * time.Second
	}
	c := config(time.Duration(rng.IntN(2)*minutes)*time.Minute, variants...)
	c.Seed = seed
	c.Models[0].SLO = sim.SLO{TTFT: 300 + 2000*rng.Float64(), ITL: 22 + 40*rng.Float64(), Attainment: []float64{0.5, 0.9, 0.95, 0.99}[rng.IntN(4)]}
	c.Models[0].Hold = time.Duration(rng.IntN(2)) * time.Minute
	return c, chat(t, profile, seed)
}

func run(t *testing.T, c sim.Config, p sim.Policy) sim.Report {
	t.Helper()
	r, err := sim.Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

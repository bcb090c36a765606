package clairvoyant

import (
	"iter"
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

package clairvoyant

import (
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// chat opens a synthetic workload again and again.
func chat(tb testing.TB, profile string, seed uint64) Arrivals {
	tb.Helper()
	p, err := workload.ParseProfile(profile)
	if err != nil {
		tb.Fatal(err)
	}
	lengths, err := workload.ChatLengths(workload.ShareGPTInputMean, workload.ShareGPTOutputMean)
	if err != nil {
		tb.Fatal(err)
	}
	return func(scaling.ModelKey) iter.Seq2[workload.Request, error] {
		return workload.WithoutError(workload.Generate(p, lengths, rand.New(rand.NewPCG(seed, 0))))
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
		Profile: serving.Profile{
			Name: name, Accelerator: "L40S", AlphaMS: 18 / faster, BetaMS: 0.35 / faster, GammaMS: 12 / faster, DeltaMS: 0.055 / faster,
			MaxBatchSize: 64, MaxBatchedTokens: 2048, KVCacheTokens: 65536, BlockSize: 16, MaxModelLen: 65536,
		},
		StartUp: sim.StartUp{Mean: 40 * time.Second}, Replicas: 1, Grace: 30 * time.Second,
	}
}

func config(duration time.Duration, variants ...sim.Variant) sim.Config {
	return sim.Config{Seed: 1, Duration: duration, Models: []sim.Model{{
		Key: scaling.ModelKey{Namespace: "ns", ID: "m"}, SLO: sim.SLO{TTFT: 1000, ITL: 60, Attainment: 0.9},
		Routing: sim.LeastLoaded, Hold: time.Minute, Variants: variants,
	}}}
}

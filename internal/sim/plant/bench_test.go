package plant

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// BenchmarkHour runs an hour of cycles of a fleet of about thirty.
func BenchmarkHour(b *testing.B) {
	for _, engine := range []settings.Engine{settings.Saturation, settings.Queueing, settings.Hybrid} {
		b.Run(string(engine), func(b *testing.B) {
			c := testConfig(engine, 30)
			for b.Loop() {
				Run(c, time.Hour, func(Tick) bool { return true })
			}
		})
	}
}

func testVariant(name string, cost float64, replicas scaling.Replicas) Variant {
	return Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: name}, Cost: cost, CostSource: scaling.CostVariant, Accelerator: name, GPUsPerReplica: 1,
			Bounds: scaling.Unbounded(), Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Profile: scaling.Profile{Source: "test", Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01, MaxBatchSize: 64},
		},
		KVTokens: 25_000, StartUp: 2 * time.Minute, Replicas: replicas,
	}
}

func testConfig(engine settings.Engine, replicas scaling.Replicas) Config {
	c := Config{
		Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, Variants: []Variant{testVariant("a", 10, replicas)}, Settings: settings.Default(),
		InputTokens: 256, OutputTokens: 128, Tick: time.Minute, Patience: 10 * time.Minute,
	}
	c.Settings.Engine = engine
	c.Settings.Pacing = constrain.Pacing{ScaleDownStabilization: 2 * time.Minute, MaxScaleDownStep: 1}
	c.Settings.Objective = scaling.Objective{Class: "premium", Priority: 1, TTFT: 1000, ITL: 45}
	rate := 0.7 * float64(replicas) * c.Best(c.Variants[0])
	c.Load = func(time.Duration) float64 { return rate }
	return c
}

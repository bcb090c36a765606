package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// fleet is a cycle of so many variants, two to a model, each with ten replicas,
// as the collector would see them.
func fleet(variants int) Cycle {
	r := rand.New(rand.NewPCG(1, 1))
	at := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	c := Cycle{
		Format: Format, Cycle: "k7hw2cxd-12", Build: "v0.1.0", Interval: time.Minute, Now: at,
		Configuration: map[scaling.ModelKey]settings.Model{}, History: memory.History{}, Plan: &scaling.Plan{At: at},
	}
	for m := range variants / 2 {
		ns := fmt.Sprintf("team-%02d", m%20)
		model := scaling.ModelKey{Namespace: ns, ID: fmt.Sprintf("meta-llama/Llama-3.1-8B-Instruct-%03d", m)}
		s := scaling.Snapshot{Model: model, At: at, Window: time.Minute, Load: scaling.Load{
			ArrivalRate: fresh(r.Float64() * 50), InputTokens: fresh(r.Float64() * 2000), OutputTokens: fresh(r.Float64() * 500),
			TTFT: fresh(r.Float64() * 500), ITL: fresh(r.Float64() * 50), GatewayQueue: scaling.Reading{State: scaling.NotApplicable},
		}}
		for v := range 2 {
			key := scaling.VariantKey{Namespace: ns, Name: fmt.Sprintf("llama-3-1-8b-%03d-%s", m, []string{"l40s", "h100"}[v])}
			counts := scaling.ReplicaCounts{Observed: true, Current: 10, Ready: 10, NewestReady: at.Add(-time.Hour)}
			target := scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: key.Name}
			s.Variants = append(s.Variants, scaling.Variant{
				Key: key, ID: model.ID + "-L40S-1", Model: model, Target: target, Accelerator: "L40S", GPUsPerReplica: 1, Cost: 12,
				CostSource: scaling.CostVariant, Bounds: scaling.Bounds{Min: 1, Max: math.MaxInt}, Replicas: counts, StartUp: 97 * time.Second,
			})
			for range 10 {
				s.Replicas = append(s.Replicas, scaling.ReplicaSample{
					Pod: fmt.Sprintf("%s-%08x-%05x", key.Name, r.Uint32(), r.IntN(1<<20)), Variant: key, Ready: true, At: at.Add(-time.Duration(r.Int64N(15e9))),
					KVCacheUsage: fresh(r.Float64()), QueueLength: fresh(float64(r.IntN(5))), KVCacheUsageNow: fresh(r.Float64()), QueueLengthNow: fresh(float64(r.IntN(5))),
					Running: fresh(float64(r.IntN(64))), KVCapacity: fresh(120_000),
				})
			}
			c.History[key] = memory.Past{
				Target: target, Desired: 10, Change: 1, DecidedAt: at.Add(-time.Hour), ProgressAt: at.Add(-time.Hour), Counts: counts,
				Wants: memory.Wants{Most: []memory.Want{{Replicas: 10}}, Least: []memory.Want{{Replicas: 9, Until: at.Add(-time.Minute)}, {Replicas: 10}}},
			}
			c.Plan.Decisions = append(c.Plan.Decisions, scaling.Decision{Variant: key, Model: model, Current: 10}.Then(
				scaling.StageOptimize, 10, scaling.ReasonSteady, "KV spare 0.312 and queue spare 3.9 of 20 replicas, triggers 0.100 and 3.0; not reduced: nothing calls for it"))
		}
		c.Configuration[model] = settings.Model{Saturation: saturation.Default(), Pacing: constrain.Pacing{ScaleDownStabilization: 2 * time.Minute}}
		c.Snapshots = append(c.Snapshots, s)
	}
	return c
}

func BenchmarkAppend(b *testing.B) {
	c := fleet(1000)
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = c.Append(line[:0])
	}
	b.SetBytes(int64(len(line)))
	b.ReportMetric(float64(len(line)), "B/cycle")
}

func BenchmarkDecode(b *testing.B) {
	line := fleet(1000).Append(nil)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKeep(b *testing.B) {
	f, err := NewFile(FileOptions{Path: b.TempDir() + "/cycles.jsonl", MaxBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	c := fleet(1000)
	for b.Loop() {
		f.Keep(c)
		<-f.queue
	}
}

// TestARecordStaysAsSmallAsDocumented keeps docs/reference/record.md honest:
// 1,000 variants with 10,000 replicas, and a hundredth of them.
func TestARecordStaysAsSmallAsDocumented(t *testing.T) {
	for variants, most := range map[int]int{1000: 5_000_000, 10: 50_000} {
		if got := len(fleet(variants).Append(nil)); got > most || got < most/2 {
			t.Errorf("%d variants take %d bytes, documented is at most %d", variants, got, most)
		}
	}
}

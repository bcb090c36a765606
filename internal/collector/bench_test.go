package collector_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// statePerVariant returns the bytes of heap that a Collector holds for each
// variant with 10 pods, with histograms of the usual number of buckets or
// without.
func statePerVariant(t testing.TB, models int, histograms bool) float64 {
	t.Helper()
	// The answers are in memory too, and are not the Collector's.
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, models, 10)
	for i := range fleet.Pods {
		fleet.Pods[i].Name += "-decode-7d9f8b6c5d-x2k4q" // as long as they are
	}
	source.Serve(fleet, busy)
	options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return histograms }}
	if histograms {
		for _, model := range fleet.Models() {
			for q, buckets := range map[query.Quantity]int{query.TTFTBuckets: 22, query.ITLBuckets: 19} { // of vLLM
				for i := range buckets {
					row := collectortest.ModelRow(q, model.Model.Namespace, model.Model.ID, float64(i))
					row.Bound = float64(10 * i)
					source.Answer(query.AskObjective, row)
				}
				row := collectortest.ModelRow(q, model.Model.Namespace, model.Model.ID, 50)
				row.Bound = math.Inf(1)
				source.Answer(query.AskObjective, row)
			}
		}
	}
	clk := testingclock.NewFakeClock(t0)
	options.Cache = cache.New(clk, cache.Options{})
	c := collector.New(source, clk, options)
	before := heap()
	c.Collect(t.Context(), fleet)
	source.Forget()
	after := heap()
	if n := options.Cache.Stats().Entries; n != models {
		t.Fatalf("got %d entries, want %d", n, models)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(source)
	runtime.KeepAlive(fleet)
	return (float64(after) - float64(before)) / float64(models)
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestStateOfAVariantIsSmall(t *testing.T) {
	for histograms, most := range map[bool]float64{false: 2.5 * 1024, true: 3.5 * 1024} {
		if got := statePerVariant(t, 500, histograms); got > most {
			t.Errorf("a variant of 10 pods takes %.0f bytes (histograms: %v), want %.0f at most", got, histograms, most)
		}
	}
}

func TestSizeTellsAboutHowMuchIsKept(t *testing.T) {
	clk := testingclock.NewFakeClock(t0)
	kept := cache.New(clk, cache.Options{})
	source, fleet := serving(100, 10, busy)
	c := collector.New(source, clk, collector.Options{Cache: kept})
	before := heap()
	c.Collect(t.Context(), fleet)
	source.Forget()
	took, told := float64(heap())-float64(before), float64(kept.Stats().Bytes)
	if told < 0.5*took || told > 1.2*took {
		t.Errorf("tells %.0f bytes and takes %.0f", told, took)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(source)
	runtime.KeepAlive(fleet)
}

func BenchmarkCollect(b *testing.B) {
	for _, models := range []int{10, 100, 1000} {
		for _, kind := range []string{"warm", "cold"} {
			b.Run(fmt.Sprintf("%s/%d", kind, models), func(b *testing.B) {
				source, fleet := serving(models, 10, busy)
				clk := testingclock.NewFakeClock(t0)
				options := collector.Options{}
				if kind == "warm" {
					options.Cache, options.TTL = cache.New(clk, cache.Options{}), cache.Fixed(time.Hour)
				}
				c := collector.New(source, clk, options)
				c.Collect(b.Context(), fleet)
				b.ReportAllocs()
				for b.Loop() {
					c.Collect(b.Context(), fleet)
					source.Forget()
				}
				b.ReportMetric(statePerVariant(b, models, false), "B/variant")
			})
		}
	}
}

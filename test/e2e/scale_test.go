//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestACycleCostsTheSameForOneVariantAndForFifty: the number of queries does
// not depend on the fleet, and cycles and memory stay within what is promised.
func TestACycleCostsTheSameForOneVariantAndForFifty(t *testing.T) {
	const ns = "fifty"
	deploy(t, chat(ns, "v-0"))
	one := queriesPerCycle(t, 1)

	var more []testbed.Variant
	for i := range 49 {
		v := chat(ns, fmt.Sprintf("v-%d", i+1))
		v.ModelID = fmt.Sprintf("meta/model-%d", i+1)
		v.NoHPA = true
		if i >= 7 {
			v.Replicas, v.Min = 0, 0 // the nodes take no more; they are variants all the same
		}
		more = append(more, v)
	}
	deploy(t, more...)
	fifty := queriesPerCycle(t, 50)
	if one != fifty || one <= 0 || one > 15 {
		t.Errorf("%v queries a cycle for one variant, %v for fifty; want the same, at most 15", one, fifty)
	}

	cycles := managerMetrics(t.Context(), t)["wva_cycle_duration_seconds"].GetMetric()[0].GetHistogram()
	mean := time.Duration(cycles.GetSampleSum() / float64(cycles.GetSampleCount()) * float64(time.Second))
	t.Logf("%v queries a cycle; cycles take %s in the mean", fifty, mean.Round(time.Millisecond))
	fitsInto(t, 170)
}

// fitsInto checks that the manager's resident memory is at most so many MB.
func fitsInto(t *testing.T, most float64) {
	t.Helper()
	memory := managerMetrics(t.Context(), t)["process_resident_memory_bytes"].GetMetric()[0].GetGauge().GetValue() / (1 << 20)
	t.Logf("the manager has %.0f MB resident, of %.0f allowed", memory, most)
	if memory > most {
		t.Errorf("the manager has %.0f MB resident, want at most %.0f", memory, most)
	}
}

// queriesPerCycle waits until the manager knows of at least n variants of the
// test and returns how many queries it makes in a cycle.
func queriesPerCycle(t *testing.T, n int) float64 {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		all, err := shared.manager.Explain(ctx)
		if err != nil {
			return err.Error()
		}
		if len(all) < n {
			return fmt.Sprintf("the manager knows %d variants, want %d", len(all), n)
		}
		return ""
	})
	const cycles = 4
	queries0, cycles0 := counted(t.Context(), t)
	var queries1, cycles1 float64
	eventually(t, time.Minute, func(ctx context.Context) string {
		if queries1, cycles1 = counted(ctx, t); cycles1 < cycles0+cycles {
			return fmt.Sprintf("%v cycles have passed, want %d", cycles1-cycles0, cycles)
		}
		return ""
	})
	return (queries1 - queries0) / (cycles1 - cycles0)
}

// counted returns the queries and the cycles that the manager has counted.
func counted(ctx context.Context, t *testing.T) (queries, cycles float64) {
	t.Helper()
	m := managerMetrics(ctx, t)
	for _, s := range m["wva_collector_queries_total"].GetMetric() {
		queries += s.GetCounter().GetValue()
	}
	for _, s := range m["wva_cycles_total"].GetMetric() {
		cycles += s.GetCounter().GetValue()
	}
	return queries, cycles
}

func managerMetrics(ctx context.Context, t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	page, err := shared.manager.Get(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("reading the manager's metrics: %v", err)
	}
	return families
}

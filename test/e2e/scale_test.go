//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestACollectionCostsTheSameForOneVariantAndForFifty: the number of queries does
// not depend on the fleet, and cycles and memory stay within what is promised.
func TestACollectionCostsTheSameForOneVariantAndForFifty(t *testing.T) {
	const ns = "fifty"
	// Up to three more are asked where a pod has no page, or does not move. While scrapes of
	// another test's namespace are late, that has a window and so questions of its own.
	ordinary := func(variants int) (queries float64) {
		for range 9 {
			if queries = queriesPerCollection(t, variants); queries <= 15 {
				break
			}
		}
		return queries
	}
	deploy(t, chat(ns, "v-0"))
	one := ordinary(1)

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
	fifty := ordinary(50)
	if one < 12 || fifty < 12 || one > 15 || fifty > 15 {
		t.Errorf("%v queries a collection for one variant, %v for fifty; want 12 to 15", one, fifty)
	}

	cycles := managerMetrics(t.Context(), t)["wva_cycle_duration_seconds"].GetMetric()[0].GetHistogram()
	mean := time.Duration(cycles.GetSampleSum() / float64(cycles.GetSampleCount()) * float64(time.Second))
	t.Logf("%.3g queries a collection for one variant, %.3g for fifty; cycles take %s in the mean", one, fifty, mean.Round(time.Millisecond))
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

// queriesPerCollection waits until the manager knows of at least n variants of the
// test and returns how many queries it makes in a collection.
func queriesPerCollection(t *testing.T, n int) float64 {
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
	const collections = 4
	before := asked(t.Context(), t)
	var after map[string]float64
	eventually(t, time.Minute, func(ctx context.Context) string {
		after = asked(ctx, t)
		if passed := after[everyCollection] - before[everyCollection]; passed < collections {
			return fmt.Sprintf("%v collections have passed, want %d", passed, collections)
		}
		return ""
	})
	// A collection may be under way at either end, so that a question which is asked
	// once in each is counted one time more or less than the collections.
	passed := after[everyCollection] - before[everyCollection]
	var queries float64
	for question, n := range after {
		queries += math.Round((n - before[question]) / passed)
	}
	return queries
}

// everyCollection is the question with which a collection begins.
const everyCollection = "pages"

// asked returns how often the manager has asked each question.
func asked(ctx context.Context, t *testing.T) map[string]float64 {
	t.Helper()
	times := map[string]float64{}
	for _, s := range managerMetrics(ctx, t)["wva_collector_queries_total"].GetMetric() {
		for _, l := range s.GetLabel() {
			if l.GetName() == "query" {
				times[l.GetValue()] += s.GetCounter().GetValue()
			}
		}
	}
	return times
}

func managerMetrics(ctx context.Context, t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	return metricsOf(ctx, t, shared.manager)
}

// metricsOf returns what a manager publishes, by name.
func metricsOf(ctx context.Context, t *testing.T, m *testbed.Manager) map[string]*dto.MetricFamily {
	t.Helper()
	page, err := m.Get(ctx, "/metrics")
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

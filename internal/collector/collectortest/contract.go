package collectortest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Backend makes the Sources that TestContract examines.
type Backend struct {
	// Answering returns a Source that answers every query with rows, evaluated at
	// the instant asked for.
	Answering func(t *testing.T, rows []collector.Sample) collector.Source
	// Failing returns a Source that can answer nothing.
	Failing func(t *testing.T) collector.Source
	// Hanging returns a Source that answers nothing until the context ends.
	Hanging func(t *testing.T) collector.Source
}

// TestContract checks that the Sources of a backend keep the contract of
// collector.Source.
func TestContract(t *testing.T, backend Backend) {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)
	expr := query.Running.Expr(time.Minute)
	rows := []collector.Sample{
		Row(0.25, PodLabels("a", "pod-0", "org/model")...),
		Row(math.NaN(), PodLabels("a", "pod-1", `quoted "model"\`)...),
		Row(math.Inf(1), PodLabels("b", "pod-0", "modèle")...),
		Row(-1.5e300),
	}
	for i := range rows {
		rows[i].At = at
	}

	t.Run("labels, values and times arrive", func(t *testing.T) {
		got, err := backend.Answering(t, rows).Query(t.Context(), expr, at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(rows), sorted(got), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
	t.Run("an empty vector is an answer", func(t *testing.T) {
		got, err := backend.Answering(t, nil).Query(t.Context(), expr, at)
		if err != nil || len(got) != 0 {
			t.Errorf("got %v, %v; want no rows and no error", got, err)
		}
	})
	t.Run("the answer belongs to the caller", func(t *testing.T) { testOwnership(t, backend.Answering(t, rows), at) })
	t.Run("queries run side by side", func(t *testing.T) { testConcurrency(t, backend.Answering(t, rows), at) })
	t.Run("a failure is one line", func(t *testing.T) {
		got, err := backend.Failing(t).Query(t.Context(), expr, at)
		if err == nil || len(got) != 0 {
			t.Fatalf("got %v, %v; want an error and no rows", got, err)
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), expr) {
			t.Errorf("got %q, want one line that does not repeat the expression", err)
		}
	})
	t.Run("the end of the context ends a query", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := backend.Hanging(t).Query(ctx, expr, at); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want context.DeadlineExceeded", err)
		}
	})
	t.Run("an ended context asks nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := backend.Answering(t, rows).Query(ctx, expr, at); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

// testOwnership writes into one answer and looks at the next.
func testOwnership(t *testing.T, source collector.Source, at time.Time) {
	t.Helper()
	ask := func() []collector.Sample {
		rows, err := source.Query(t.Context(), query.Running.Expr(time.Minute), at)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for _, row := range ask() {
		row.Labels["pod"] = "overwritten"
	}
	for _, row := range ask() {
		if row.Labels["pod"] == "overwritten" {
			t.Fatal("two answers share their labels")
		}
	}
}

// testConcurrency asks from several goroutines; the race detector watches.
func testConcurrency(t *testing.T, source collector.Source, at time.Time) {
	t.Helper()
	var wg sync.WaitGroup
	for _, q := range query.All() {
		wg.Go(func() {
			if _, err := source.Query(t.Context(), q.Expr(time.Minute), at); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		})
	}
	wg.Wait()
}

// sorted returns rows in an order that depends on their labels alone.
func sorted(rows []collector.Sample) []collector.Sample {
	key := func(s collector.Sample) string {
		return strings.Join([]string{s.Labels["namespace"], s.Labels["pod"], s.Labels["model_name"]}, "\x00")
	}
	return slices.SortedFunc(slices.Values(rows), func(a, b collector.Sample) int { return strings.Compare(key(a), key(b)) })
}

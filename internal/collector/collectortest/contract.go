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
	// Answering returns a Source that knows the given numbers of running requests and nothing else,
	// as of its own now. The rows are of distinct pods, with namespace, pod and model; a value may
	// be NaN or infinite.
	Answering func(t *testing.T, running []query.Row) collector.Source
	// Failing returns a Source that fails every question. Nil for a backend that never fails.
	Failing func(t *testing.T) collector.Source
	// Hanging returns a Source that answers nothing until the context ends. Nil for a backend that
	// does not wait.
	Hanging func(t *testing.T) collector.Source
}

// running returns the request for the contract's rows.
func running(at time.Time) query.Request {
	return query.Request{Ask: query.AskRunning, At: at, Window: time.Minute}
}

// TestContract checks that the Sources of a backend keep the contract of
// collector.Source.
func TestContract(t *testing.T, backend Backend) {
	t.Helper()
	rows := []query.Row{
		PodRow(query.Running, "a", "pod-0", "org/model", 0.25),
		PodRow(query.Running, "a", "pod-1", `quoted "model"\ {of} 'all'`, math.NaN()),
		PodRow(query.Running, "b", "pod-0", "modèle", math.Inf(1)),
		PodRow(query.Running, "b", "pod-1", "org/model", 1.5e300),
	}
	t.Run("rows arrive, with the instant that they are for", func(t *testing.T) {
		testRows(t, backend.Answering(t, rows), rows)
	})
	t.Run("no rows are an answer", func(t *testing.T) {
		got, err := backend.Answering(t, nil).Ask(t.Context(), running(time.Time{}))
		if err != nil || len(got.Rows) != 0 {
			t.Errorf("got %v, %v; want no rows and no error", got, err)
		}
	})
	t.Run("every question has an answer", func(t *testing.T) { testConcurrency(t, backend.Answering(t, rows)) })
	t.Run("the answer belongs to the caller", func(t *testing.T) { testOwnership(t, backend.Answering(t, rows)) })
	t.Run("only the namespaces asked for", func(t *testing.T) { testNamespaces(t, backend.Answering(t, rows)) })
	t.Run("a failure is one line", func(t *testing.T) { testFailure(t, backend) })
	t.Run("the end of the context ends a question", func(t *testing.T) { testHanging(t, backend) })
	t.Run("an ended context asks nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := backend.Answering(t, rows).Ask(ctx, running(time.Time{})); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

// testRows asks for the Source's now, and then for the instant that it returned.
func testRows(t *testing.T, source collector.Source, rows []query.Row) {
	t.Helper()
	var at time.Time
	for range 2 {
		got, err := source.Ask(t.Context(), running(at))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(rows), sorted(got.Rows), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if got.At.IsZero() || !at.IsZero() && !got.At.Equal(at) {
			t.Errorf("answered for %s, asked for %s", got.At, at)
		}
		at = got.At
	}
}

// testConcurrency asks every question at once, for the race detector.
func testConcurrency(t *testing.T, source collector.Source) {
	t.Helper()
	var wg sync.WaitGroup
	for _, ask := range query.Questions() {
		wg.Go(func() {
			if _, err := source.Ask(t.Context(), query.Request{Ask: ask, Window: time.Minute, Models: []string{"org/model"}}); err != nil {
				t.Errorf("%s: %v", ask, err)
			}
		})
	}
	wg.Wait()
}

// testOwnership writes into one answer and looks at the next.
func testOwnership(t *testing.T, source collector.Source) {
	t.Helper()
	ask := func() []query.Row {
		got, err := source.Ask(t.Context(), running(time.Time{}))
		if err != nil {
			t.Fatal(err)
		}
		return got.Rows
	}
	rows := ask()
	for i := range rows {
		rows[i].Pod = "overwritten"
	}
	for _, row := range ask() {
		if row.Pod == "overwritten" {
			t.Fatal("two answers share their rows")
		}
	}
}

// testNamespaces restricts a question to a namespace. A backend in memory may ignore the
// restriction, but must not lose rows of that namespace.
func testNamespaces(t *testing.T, source collector.Source) {
	t.Helper()
	request := running(time.Time{})
	request.Namespaces = []string{"b"}
	got, err := source.Ask(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(got.Rows, func(r query.Row) bool { return r.Namespace != "b" })); n != 2 {
		t.Errorf("got %d rows of the namespace, want 2", n)
	}
}

// testFailure checks the error of a Source that fails every question.
func testFailure(t *testing.T, backend Backend) {
	t.Helper()
	if backend.Failing == nil {
		t.Skip("the backend never fails")
	}
	got, err := backend.Failing(t).Ask(t.Context(), running(time.Time{}))
	if err == nil || len(got.Rows) != 0 {
		t.Fatalf("got %v, %v; want an error and no rows", got, err)
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), query.VLLM.Witness()) {
		t.Errorf("got %q, want one line that does not repeat the question", err)
	}
}

// testHanging checks that a Source that does not answer returns when the context ends.
func testHanging(t *testing.T, backend Backend) {
	t.Helper()
	if backend.Hanging == nil {
		t.Skip("the backend does not wait")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := backend.Hanging(t).Ask(ctx, running(time.Time{})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
}

// sorted returns rows in an order that does not depend on their values.
func sorted(rows []query.Row) []query.Row {
	key := func(r query.Row) string { return strings.Join([]string{r.Namespace, r.Pod, r.Model}, "\x00") }
	return slices.SortedFunc(slices.Values(rows), func(a, b query.Row) int { return strings.Compare(key(a), key(b)) })
}

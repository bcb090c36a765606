package loop

import (
	"net/http"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/faulty"
)

// TestAWarmCacheCarriesOverAFault keeps a measurement for as long as it may be
// kept and no longer, and asks for nothing meanwhile.
func TestAWarmCacheCarriesOverAFault(t *testing.T) {
	forBothLoads(t, options{Cached: true}, func(t *testing.T, l *loop, right scaling.Replicas) {
		if err := l.collect.Refresh(t.Context(), l.fleet()); err != nil {
			t.Fatal(err)
		}
		asked := l.proxy.Asked()
		l.proxy.Break(faulty.Status(http.StatusInternalServerError))
		l.pass(scrapes)
		l.decide().want(t, "within the TTL", right)
		if n := l.proxy.Asked() - asked; n != 0 {
			t.Errorf("a warm cycle sent %d queries", n)
		}
		// The entry would not live until the next refresh, so one is due. It fails,
		// and leaves the entry alone.
		if err := l.collect.Refresh(t.Context(), l.fleet()); err == nil {
			t.Error("a refresh without answers did not fail")
		}
		l.decide().want(t, "after a refresh that failed", right)
		l.pass(30 * time.Second)
		l.history = memory.History{}
		l.decide().want(t, "beyond the TTL", replicas)
		l.proxy.Break(nil)
		l.recovers(right)
	})
}

// TestWhatIsNotCompleteIsNotKept has a refresh of which half fails. The next cycle
// asks again, and does not find the other half.
func TestWhatIsNotCompleteIsNotKept(t *testing.T) {
	forBothLoads(t, options{Cached: true}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.proxy.Break(faulty.Some(http.StatusInternalServerError, func(n int64) bool { return n > 1 && n%2 == 0 }))
		if err := l.collect.Refresh(t.Context(), l.fleet()); err == nil {
			t.Error("a refresh of which half failed did not fail")
		}
		l.proxy.Break(faulty.Status(http.StatusInternalServerError))
		got := l.decide()
		got.want(t, "nothing is kept and nothing is answered", replicas)
		if got.snapshot.Fault == "" {
			t.Error("the cycle says nothing of the fault")
		}
		l.proxy.Break(nil)
		l.recovers(right)
	})
}

// TestACycleSendsAsManyQueriesAsItHasQuestions counts what arrives at the store:
// twelve questions as a rule, two more for an objective, and one for each of two
// occasions.
func TestACycleSendsAsManyQueriesAsItHasQuestions(t *testing.T) {
	const regular = query.QuestionCount - 5
	for _, c := range []struct {
		name     string
		objected bool // the model has a latency objective
		occasion func(l *loop)
		want     int
	}{
		{"regular", false, func(*loop) {}, regular},
		{"a pod has no page", false, func(l *loop) { l.pods[0].silent = true }, regular + 1},
		{"a pod is quiet", false, func(l *loop) { l.pods[0].hangs = true }, regular + 1},
		{"an objective", true, func(*loop) {}, regular + 2},
		{"all at once", true, func(l *loop) { l.pods[0].silent, l.pods[1].hangs = true, true }, regular + 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := begin(t, options{Collector: collector.Options{Percentiles: func(scaling.ModelKey) bool { return c.objected }}})
			c.occasion(l)
			l.pass(5 * time.Minute)
			before := l.proxy.Asked()
			l.decide()
			if got := l.proxy.Asked() - before; got != c.want || got > 16 {
				t.Errorf("%d queries, want %d and at most 16", got, c.want)
			}
		})
	}
}

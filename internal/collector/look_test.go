package collector_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// logging returns a context whose logger appends to lines.
func logging(t *testing.T, lines *[]string) context.Context {
	t.Helper()
	return logr.NewContext(t.Context(), funcr.New(func(_, args string) { *lines = append(*lines, args) }, funcr.Options{Verbosity: 1}))
}

func TestALookSeesWhatACycleWouldAndIsNotCounted(t *testing.T) {
	var lines []string
	observed := 0
	c := newCaching(t, collector.Options{RefreshInterval: 5 * time.Second, ObserveCache: func(int, int) { observed++ }})
	ctx := logging(t, &lines)
	for i, want := range []int{len(regular), 0} { // the first fetches, the second finds all in the cache
		got, err := c.Look(ctx, c.fleet)
		if err != nil || c.asked() != want {
			t.Errorf("look %d: error %v, want none after %d questions", i, err, want)
		}
		if stats := c.cache.Stats(); observed != 0 || stats.Hits != 0 || stats.Misses != 0 || len(lines) != 0 {
			t.Errorf("look %d: observed %d, counted %+v, logged %q, want nothing", i, observed, stats, lines)
		}
		if i == 1 {
			if diff := cmp.Diff(c.Collect(t.Context(), c.fleet), got); diff != "" {
				t.Errorf("(-cycle +look):\n%s", diff)
			}
		}
	}
}

func TestALookMeasuresOnceWhetherThatSucceedsOrNot(t *testing.T) {
	for name, tc := range map[string]struct {
		fail       []query.Question
		invalidate bool
		asks       int
		fault      string // of the second model
	}{
		"the source fails":                  {[]query.Question{query.AskPages}, false, 1, ""},
		"the source fails, one is not kept": {[]query.Question{query.AskPages}, true, 1, "querying pages: boom"},
		"one question fails":                {[]query.Question{query.AskMeans}, true, len(regular), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaching(t, collector.Options{})
			c.Collect(t.Context(), c.fleet)
			c.pass(10 * time.Second)
			if tc.invalidate {
				c.cache.Invalidate(collector.Key(c.fleet.Variants[1].Model))
			}
			for _, ask := range tc.fail {
				c.source.Fail(ask, errBoom)
			}
			c.asked()
			got, err := c.Look(t.Context(), c.fleet)
			if !errors.Is(err, errBoom) || c.asked() != tc.asks {
				t.Errorf("got error %v, want that of the source after %d questions", err, tc.asks)
			}
			if got[0].Load.TTFT != fresh(80) || got[0].Fault != "" || got[1].Fault != tc.fault {
				t.Errorf("got TTFT %v, faults %q and %q, want what is kept and %q", got[0].Load.TTFT, got[0].Fault, got[1].Fault, tc.fault)
			}
		})
	}
}

// roomFor returns a collector with a cache of so many entries for two models.
func roomFor(entries int, options collector.Options) *caching {
	clk := testingclock.NewFakeClock(t0)
	source, fleet := serving(2, 2, busy)
	kept := cache.New(clk, cache.Options{MaxEntries: entries})
	options.Cache = kept
	return &caching{Collector: collector.New(source, clk, options), clock: clk, cache: kept, source: source, fleet: fleet}
}

func TestACacheThatIsTooSmallIsToldAndServesAllTheSame(t *testing.T) {
	var crowds []int
	var lines []string
	c := roomFor(1, collector.Options{ObserveCrowding: func(models int) { crowds = append(crowds, models) }})
	ctx := logging(t, &lines)
	for range 2 {
		got, err := c.Look(ctx, c.fleet)
		if err != nil || c.asked() != len(regular) {
			t.Errorf("a pass: error %v, want one fetch", err)
		}
		for i, s := range got {
			if s.Load.TTFT != fresh(80) {
				t.Errorf("model %d: got %+v", i, s.Load)
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "PROMETHEUS_METRICS_CACHE_MAX_ENTRIES") })
	if len(lines) != 1 || !strings.Contains(lines[0], `"entries"=1 "models"=2`) || !strings.Contains(lines[0], `"level"=0`) {
		t.Errorf("got log %q, want one line with both numbers", lines)
	}
	if diff := cmp.Diff([]int{2, 2}, crowds); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestACacheWithRoomOrNoneAtAllIsNotTooSmall(t *testing.T) {
	tell := collector.Options{ObserveCrowding: func(models int) { t.Errorf("told of %d models", models) }}
	roomFor(2, tell).Collect(t.Context(), roomFor(2, tell).fleet)
	source, fleet := serving(2, 2, busy)
	tell.Cache = struct{ cache.Cache }{cache.NoOp{}}
	collector.New(source, testingclock.NewFakePassiveClock(t0), tell).Collect(t.Context(), fleet)
}

func TestWhatIsInvalidatedDuringAFetchIsNotKept(t *testing.T) {
	c := newCaching(t, collector.Options{})
	doomed, other := collector.Key(c.fleet.Variants[0].Model), collector.Key(c.fleet.Variants[1].Model)
	invalidating := during{c.source, func() { c.cache.Invalidate(doomed) }}
	collector.New(invalidating, c.clock, collector.Options{Cache: c.cache}).Collect(t.Context(), c.fleet)
	if _, ok := c.cache.Peek(doomed); ok {
		t.Error("what was measured before the invalidation is kept after it")
	}
	if _, ok := c.cache.Peek(other); !ok {
		t.Error("the other model is not kept")
	}
}

// during does something while the questions about the gateway are under way.
type during struct {
	collector.Source
	do func()
}

func (s during) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	if request.Ask == query.AskGateway {
		s.do()
	}
	return s.Source.Ask(ctx, request)
}

func TestWhoWaitedForAFailureTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(2, 1, busy)
		source.Hang(query.AskPages)
		few := fleet
		few.Variants, few.Pods = fleet.Variants[:1], fleet.Pods[:1]
		c := collector.New(source, clock.RealClock{}, collector.Options{Budget: 3 * time.Second})
		go c.Collect(t.Context(), few)
		time.Sleep(time.Second)
		began := time.Now()
		got := c.Collect(t.Context(), fleet) // with a model that the fetch is not about
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %s, want what was left of the fetch under way", took)
		}
		for _, s := range got {
			if s.Fault != "querying pages: context deadline exceeded" {
				t.Errorf("model %s: fault %q", s.Model, s.Fault)
			}
		}
	})
}

func TestAModelThatAFailedFetchWasNotAboutHasItsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(2, 1, busy)
		source.Fail(query.AskMeans, errBoom)
		few := fleet
		few.Variants, few.Pods = fleet.Variants[:1], fleet.Pods[:1]
		c := collector.New(slowSource{source, time.Second}, clock.RealClock{}, collector.Options{Concurrency: 20})
		go c.Collect(t.Context(), few)
		time.Sleep(time.Millisecond)
		got := c.Collect(t.Context(), fleet)
		want := []string{"", "1 of 12 queries fail, the first with: querying means: boom"}
		if diff := cmp.Diff(want, []string{got[0].Fault, got[1].Fault}); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	})
}

func TestWaitingAndAskingStayWithinOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(3, 1, busy)
		few := func(n int) scaling.Fleet {
			small := fleet
			small.Variants, small.Pods = fleet.Variants[:n], fleet.Pods[:n]
			return small
		}
		// Each fetch takes 4.5s, in three rounds, and covers too few for the next.
		c := collector.New(slowSource{source, 1500 * time.Millisecond}, clock.RealClock{}, collector.Options{Concurrency: 20, Budget: 5 * time.Second})
		go c.Collect(t.Context(), few(1))
		time.Sleep(time.Millisecond)
		began := time.Now()
		got := c.Collect(t.Context(), few(2))
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %s, want the budget of 5s", took)
		}
		if got[1].Fault == "" {
			t.Error("got no fault, though the budget was spent on the fetch of another")
		}
	})
}

// deafSource answers after its time, whether anybody still waits or not.
type deafSource struct {
	collector.Source
	takes time.Duration
}

func (s deafSource) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	time.Sleep(s.takes)
	return s.Source.Ask(context.WithoutCancel(ctx), request)
}

func TestNoModelWaitsForAnotherLongerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(1, 1, busy)
		c := collector.New(deafSource{source, 10 * time.Second}, clock.RealClock{}, collector.Options{Budget: 5 * time.Second})
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { c.Collect(t.Context(), fleet) })
		time.Sleep(time.Millisecond)
		began := time.Now()
		got := c.Collect(t.Context(), fleet)[0]
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %s, want the budget of 5s", took)
		}
		if want := "waiting for the collection under way: context deadline exceeded"; got.Fault != want {
			t.Errorf("got fault %q, want %q", got.Fault, want)
		}
	})
}

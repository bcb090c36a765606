package collector_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// caching is a collector with a cache, on a clock of its own.
type caching struct {
	*collector.Collector
	clock  *testingclock.FakeClock
	cache  *cache.TTL
	source *collectortest.Source
	fleet  scaling.Fleet
}

// newCaching returns one that measures a fleet of two models with two pods.
func newCaching(t *testing.T, options collector.Options) *caching {
	t.Helper()
	clk := testingclock.NewFakeClock(t0)
	kept := cache.New(clk, cache.Options{})
	source, fleet := serving(2, 2, busy)
	options.Cache = kept
	return &caching{Collector: collector.New(source, clk, options), clock: clk, cache: kept, source: source, fleet: fleet}
}

// pass lets time pass for store, pods and collector. The store goes on to be scraped.
func (c *caching) pass(d time.Duration) {
	c.clock.Step(d)
	c.fleet.At = c.clock.Now()
	c.source.SetNow(c.clock.Now())
	c.source.Clear()
	c.source.Serve(c.fleet, busy)
}

// asked returns how many questions were asked since the last call.
func (c *caching) asked() int {
	defer c.source.Forget()
	return len(c.source.Calls())
}

func TestLiveEntriesAnswerWithoutASource(t *testing.T) {
	c := newCaching(t, collector.Options{})
	first := c.Collect(t.Context(), c.fleet)
	if n := c.asked(); n != len(regular) {
		t.Errorf("cold: asked %d questions, want %d", n, len(regular))
	}
	if diff := cmp.Diff(first, c.Collect(t.Context(), c.fleet)); diff != "" || c.asked() != 0 {
		t.Errorf("warm (-first +second):\n%s", diff)
	}
	c.pass(30*time.Second - 1)
	if c.Collect(t.Context(), c.fleet); c.asked() != 0 {
		t.Error("asked again before the entries expired")
	}
	c.pass(1)
	if c.Collect(t.Context(), c.fleet); c.asked() != len(regular) {
		t.Error("did not ask again when the entries had expired")
	}
}

func TestAgeAdvancesWhileServedFromTheCache(t *testing.T) {
	c := newCaching(t, collector.Options{TTL: cache.Fixed(time.Hour), Limits: collector.Limits{Fresh: time.Minute, Aging: 5 * time.Minute}})
	at := c.Collect(t.Context(), c.fleet)[0].Replicas[0].At
	c.asked()
	// Fresh for 30s + 1h, as an entry may be kept for so long; Aging for twice that.
	for _, step := range []struct {
		after time.Duration
		want  scaling.Freshness
	}{{time.Minute, scaling.Fresh}, {time.Hour - time.Second, scaling.Fresh}} {
		c.clock.SetTime(t0.Add(step.after))
		r := c.Collect(t.Context(), c.fleet)[0].Replicas[0]
		if r.QueueLength.State != step.want || !r.At.Equal(at) {
			t.Errorf("after %s: got %v, scraped at %s, want %v at %s", step.after, r.QueueLength, r.At, step.want, at)
		}
	}
	if c.asked() != 0 {
		t.Error("asked")
	}
	// A page that is old already grows older in the cache.
	c = newCaching(t, collector.Options{TTL: cache.Fixed(90 * time.Second)})
	c.source.Clear()
	page := busy
	page.Age = 110 * time.Second
	c.source.Serve(c.fleet, page) // Fresh below 2m
	for _, step := range []struct {
		after time.Duration
		want  scaling.Freshness
	}{{0, scaling.Fresh}, {9 * time.Second, scaling.Fresh}, {10 * time.Second, scaling.Aging}, {89 * time.Second, scaling.Aging}} {
		c.clock.SetTime(t0.Add(step.after))
		if got := c.Collect(t.Context(), c.fleet)[0].Replicas[0].QueueLength.State; got != step.want {
			t.Errorf("after %s: got %v, want %v", step.after, got, step.want)
		}
	}
}

func TestCachedMeasurementsJoinThePodsThatLiveNow(t *testing.T) {
	c := newCaching(t, collector.Options{})
	whole := c.fleet
	c.fleet.Pods = slices.Delete(slices.Clone(whole.Pods), 1, 2) // m000-1 is not known yet
	if got := c.Collect(t.Context(), c.fleet)[0].Replicas; len(got) != 1 {
		t.Fatalf("got %+v", got)
	}
	c.asked()
	if got := c.Collect(t.Context(), whole)[0].Replicas; len(got) != 2 || got[1].QueueLength != fresh(2) {
		t.Errorf("a pod that is discovered late: got %+v", got)
	}
	c.fleet.Pods = whole.Pods[1:] // m000-0 is gone
	if got := c.Collect(t.Context(), c.fleet)[0].Replicas; len(got) != 1 || got[0].Pod != "m000-1" {
		t.Errorf("a pod that is gone: got %+v", got)
	}
	if c.asked() != 0 {
		t.Error("asked")
	}
}

func TestAModelWithoutAnEntryMakesOneFetchForAll(t *testing.T) {
	c := newCaching(t, collector.Options{})
	small := c.fleet
	small.Variants, small.Pods = c.fleet.Variants[:1], c.fleet.Pods[:2]
	c.Collect(t.Context(), small)
	c.asked()
	if got := c.Collect(t.Context(), c.fleet); c.asked() != len(regular) || got[1].Replicas[0].QueueLength != fresh(2) {
		t.Errorf("a model that is new: got %+v", got[1])
	}
	c.cache.Invalidate(collector.Key(c.fleet.Variants[0].Model))
	if c.Collect(t.Context(), c.fleet); c.asked() != len(regular) {
		t.Error("a model that was invalidated was not asked for")
	}
	if c.Collect(t.Context(), c.fleet); c.asked() != 0 {
		t.Error("asked again")
	}
}

func TestAModelWithoutMetricsIsRemembered(t *testing.T) {
	c := newCaching(t, collector.Options{})
	c.source.Clear()
	for i, want := range []int{len(regular) + 1, 0} { // with the earlier pages
		if got := c.Collect(t.Context(), c.fleet)[0]; got.Replicas[0].Reports() || c.asked() != want {
			t.Errorf("collection %d: got %+v", i, got)
		}
	}
}

func TestPartOfAMeasurementServesOnlyWhoAsked(t *testing.T) {
	c := newCaching(t, collector.Options{})
	c.source.Fail(query.AskMeans, errBoom)
	for range 2 {
		got := c.Collect(t.Context(), c.fleet)[0]
		if c.asked() != len(regular) || got.Replicas[0].QueueLength != fresh(2) || got.Load.TTFT.Known() {
			t.Errorf("got %+v", got)
		}
	}
	if kept := c.cache.Entries(); len(kept) != 0 {
		t.Errorf("kept %d entries", len(kept))
	}
}

func TestAFailedFetchReplacesNothingThatIsLive(t *testing.T) {
	for name, failing := range map[string][]query.Question{
		"one question": {query.AskMeans}, "all questions": query.Questions(),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaching(t, collector.Options{})
			c.Collect(t.Context(), c.fleet)
			c.pass(10 * time.Second)
			c.cache.Invalidate(collector.Key(c.fleet.Variants[1].Model))
			for _, ask := range failing {
				c.source.Fail(ask, errBoom)
			}
			got := c.Collect(t.Context(), c.fleet)
			if got[0].Load.TTFT != fresh(80) || got[0].Fault != "" {
				t.Errorf("the model with a live entry: got %v, fault %q", got[0].Load.TTFT, got[0].Fault)
			}
			if got[1].Load.TTFT.Known() || (got[1].Fault != "") != (len(failing) > 1) {
				t.Errorf("the other: got %v, fault %q", got[1].Load.TTFT, got[1].Fault)
			}
			if err := c.Refresh(t.Context(), c.fleet); !errors.Is(err, errBoom) || len(c.cache.Entries()) != 1 {
				t.Errorf("refreshing: got %v with %d entries", err, len(c.cache.Entries()))
			}
			c.pass(20 * time.Second) // expired
			if got := c.Collect(t.Context(), c.fleet)[0].Load.TTFT; got.Known() {
				t.Errorf("after it expired: got %v", got)
			}
		})
	}
}

// step is a pass so long after the one before, and whether it fetches.
type step struct {
	after time.Duration
	asks  bool
}

func TestRefreshFetchesInEachPassUnlessAnAdaptiveEntryLasts(t *testing.T) {
	for name, test := range map[string]struct {
		ttl   cache.Lifetime
		steps []step
	}{
		// What was fetched less than half an interval ago is new enough.
		"fixed": {cache.Fixed(30 * time.Second), []step{{0, true}, {7 * time.Second, true}, {0, false}, {3 * time.Second, false}, {4 * time.Second, true}}},
		// It is due when it would expire before the next pass has fetched.
		"adaptive": {cache.Adaptive{Min: 30 * time.Second, Max: 30 * time.Second}, []step{
			{0, true}, {7 * time.Second, false}, {7 * time.Second, false}, {7 * time.Second, true}, {7 * time.Second, false}, {0, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			testRefresh(t, newCaching(t, collector.Options{RefreshInterval: 7 * time.Second, TTL: test.ttl}), test.steps)
		})
	}
}

func testRefresh(t *testing.T, c *caching, steps []step) {
	t.Helper()
	for _, s := range steps {
		c.pass(s.after)
		if err := c.Refresh(t.Context(), c.fleet); err != nil {
			t.Fatal(err)
		}
		if asked := c.asked() > 0; asked != s.asks {
			t.Errorf("at %s: asked is %v, want %v", c.clock.Since(t0), asked, s.asks)
		}
		if c.Collect(t.Context(), c.fleet); c.asked() != 0 {
			t.Errorf("at %s: a cycle waited for the source", c.clock.Since(t0))
		}
	}
	c.cache.Invalidate("replica:")
	if err := c.Refresh(t.Context(), c.fleet); err != nil || c.asked() == 0 {
		t.Errorf("after an invalidation: %v", err)
	}
	if err := c.Refresh(t.Context(), scaling.Fleet{At: t0}); err != nil || c.asked() != 0 {
		t.Errorf("without models: %v", err)
	}
}

func TestNoReaderWaitsWhileAFetchIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(1, 1, busy)
		var took atomic.Int64
		c := collector.New(unsteadySource{source, &took}, clock.RealClock{}, collector.Options{
			Concurrency: 20, Cache: cache.New(clock.RealClock{}, cache.Options{}), TTL: cache.DefaultTTL,
		})
		passes := 0
		for _, fetch := range []time.Duration{100 * time.Millisecond, 2 * time.Second, time.Second, 100 * time.Millisecond, 4 * time.Second} {
			began := time.Now()
			took.Store(int64(fetch))
			source.Forget()
			go func() {
				if err := c.Refresh(t.Context(), fleet); err != nil {
					t.Error(err)
				}
			}()
			for passes > 0 && time.Since(began) < 15*time.Second {
				if before := time.Now(); c.Collect(t.Context(), fleet) != nil && time.Since(before) > 0 {
					t.Errorf("pass %d, %s after it began: a cycle waited for %s", passes, before.Sub(began), time.Since(before))
				}
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(time.Until(began.Add(15 * time.Second)))
			if len(source.Calls()) == 0 {
				t.Errorf("pass %d fetched nothing, and fetching is due every 15s", passes)
			}
			passes++
		}
	})
}

func TestQuietModelsAreKeptLonger(t *testing.T) {
	c := newCaching(t, collector.Options{TTL: cache.Adaptive{Min: 10 * time.Second, Max: time.Minute}, RefreshInterval: time.Second})
	ttl := func() time.Duration {
		entry, _ := c.cache.Peek(collector.Key(c.fleet.Variants[0].Model))
		return entry.TTL
	}
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		if c.Collect(t.Context(), c.fleet); ttl() != want {
			t.Errorf("at %s: kept for %s, want %s", c.clock.Since(t0), ttl(), want)
		}
		c.pass(ttl())
	}
	c.source.Answer(query.AskQueueLengthPeak, queueOf("m000-0", 50))
	if c.Collect(t.Context(), c.fleet); ttl() != 10*time.Second {
		t.Errorf("after a jump: kept for %s, want the minimum", ttl())
	}
}

func TestCacheUseIsObservedAndLogged(t *testing.T) {
	var hits, misses []int
	c := newCaching(t, collector.Options{ObserveCache: func(h, m int) { hits, misses = append(hits, h), append(misses, m) }})
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
	ctx := logr.NewContext(t.Context(), log)
	c.Collect(ctx, c.fleet)
	c.clock.Step(5 * time.Second)
	c.Collect(ctx, c.fleet)
	c.cache.Invalidate(collector.Key(c.fleet.Variants[1].Model))
	c.Collect(ctx, c.fleet)
	if diff := cmp.Diff([][]int{{0, 2, 1}, {2, 0, 1}}, [][]int{hits, misses}); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	want := []string{
		`"msg"="Cache miss for replica metrics, fetching from the source" "namespace"="serving" "model"="m000" "models"=2`,
		`"msg"="Using cached replica metrics" "age"="5s" "models"=2`,
		`"msg"="Cache miss for replica metrics, fetching from the source" "namespace"="serving" "model"="m001" "models"=1`,
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, `"level"=1 `)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestConcurrentCallersShareOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(2, 2, busy)
		slow := slowSource{source, time.Second}
		c := collector.New(slow, clock.RealClock{}, collector.Options{Concurrency: 20, Cache: cache.NoOp{}})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if i%2 == 0 {
					if err := c.Refresh(t.Context(), fleet); err != nil {
						t.Error(err)
					}
					return
				}
				if got := c.Collect(t.Context(), fleet); got[1].Replicas[1].QueueLength != fresh(2) {
					t.Errorf("got %+v", got[1])
				}
			})
		}
		began := time.Now()
		wg.Wait()
		if n := len(source.Calls()); n != len(regular) || time.Since(began) != 3*time.Second {
			t.Errorf("asked %d questions in %s, want %d in three rounds of 1s", n, time.Since(began), len(regular))
		}
	})
}

func TestWhoGivesUpDoesNotSpoilTheOthersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(1, 1, busy)
		c := collector.New(slowSource{source, time.Second}, clock.RealClock{}, collector.Options{Concurrency: 20})
		var wg sync.WaitGroup
		impatient := func(patience time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if got := c.Collect(ctx, fleet)[0].Fault; got == "" {
				t.Errorf("with a patience of %s: got no fault", patience)
			}
		}
		wg.Go(func() { impatient(500 * time.Millisecond) }) // leads, and gives up
		time.Sleep(time.Millisecond)
		wg.Go(func() { impatient(300 * time.Millisecond) }) // follows, and gives up earlier
		wg.Go(func() {
			if got := c.Collect(t.Context(), fleet)[0]; got.Fault != "" || got.Replicas[0].QueueLength != fresh(2) {
				t.Errorf("got %+v", got)
			}
		})
		wg.Wait()
	})
}

func TestAFetchForOtherModelsIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(2, 1, busy)
		small := fleet
		small.Variants, small.Pods = fleet.Variants[:1], fleet.Pods[:1]
		c := collector.New(slowSource{source, time.Second}, clock.RealClock{}, collector.Options{Concurrency: 20})
		var wg sync.WaitGroup
		wg.Go(func() { c.Collect(t.Context(), small) })
		time.Sleep(time.Millisecond)
		if got := c.Collect(t.Context(), fleet); got[1].Replicas[0].QueueLength != fresh(2) {
			t.Errorf("got %+v", got[1])
		}
		wg.Wait()
		if n := len(source.Calls()); n != 2*len(regular) {
			t.Errorf("asked %d questions, want two collections of %d", n, len(regular))
		}
	})
}

// unsteadySource takes as long for each question as is set at the moment.
type unsteadySource struct {
	collector.Source
	takes *atomic.Int64
}

func (s unsteadySource) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	return slowSource{s.Source, time.Duration(s.takes.Load())}.Ask(ctx, request)
}

// slowSource takes its time over every answer.
type slowSource struct {
	collector.Source
	takes time.Duration
}

func (s slowSource) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	select {
	case <-time.After(s.takes):
		return s.Source.Ask(ctx, request)
	case <-ctx.Done():
		return query.Answer{}, ctx.Err()
	}
}

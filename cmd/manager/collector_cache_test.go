package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// parsed returns the configuration that the arguments give.
func parsed(t *testing.T, args ...string) *config.Operator {
	t.Helper()
	args = append([]string{"--prometheus-base-url=https://prometheus.example"}, args...)
	o, err := config.Parse(args, func(string) (string, bool) { return "", false }, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// bench is a collector over a source in memory, as the manager builds it.
type bench struct {
	measuring
	kept   kept
	source *collectortest.Source

	mu    sync.Mutex
	fleet scaling.Fleet // replaced and never modified
}

func newBench(t *testing.T, args ...string) *bench {
	t.Helper()
	now := clock.RealClock{}.Now()
	b := &bench{fleet: collectortest.Fleet(now, 3, 2), source: collectortest.New(now)}
	b.source.Serve(b.fleet, collectortest.Page{Interval: 15 * time.Second, KVCacheUsage: 0.5, WithoutGateway: true})
	o := parsed(t, args...)
	b.kept = newKept(o.Collector.Cache)
	b.measuring = measuring{
		operator: o, source: b.source, store: b.kept, instruments: metrics.New(prometheus.NewRegistry(), clock.RealClock{}, metrics.Options{}),
		hasObjective: func(scaling.ModelKey) bool { return false },
	}
	return b
}

// Fleet makes the bench a cycle.Cluster.
func (b *bench) Fleet(context.Context, time.Time) (scaling.Fleet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fleet, nil
}

// Apply makes the bench a cycle.Actuator that is followed at once: every target
// has the replicas decided.
func (b *bench) Apply(_ context.Context, record memory.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fleet.Variants = slices.Clone(b.fleet.Variants)
	for _, d := range record.Plan.Decisions {
		for i := range b.fleet.Variants {
			if v := &b.fleet.Variants[i]; v.Key == d.Variant {
				v.Replicas.Current, v.Replicas.Ready = d.Target(), d.Target()
			}
		}
	}
	return nil
}

func TestACycleAsksNothingWhereBackgroundFetchingHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		measure := newCollector(b.measuring)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		start := newFetching(func() *config.Operator { return b.operator }, stopped(), &watch.Watch{
			Clock: clock.RealClock{}, Cluster: b, Collector: measure, Memory: ledger.New(),
			Analyze: watch.By(func(scaling.ModelKey) settings.Model { return settings.Default() }),
		}).run(logr.Discard())
		if !start.NeedLeaderElection() {
			t.Error("a manager that does not lead asks the source")
		}
		done := make(chan error, 1)
		go func() { done <- start.Start(ctx) }()
		for range 10 {
			time.Sleep(29 * time.Second)
			synctest.Wait()
			b.source.Forget()
			if got := measure.Collect(ctx, b.fleet); len(got) != 3 || len(got[0].Replicas) != 2 || got[0].Backend != scaling.BackendPrometheus {
				t.Fatalf("snapshots %+v", got)
			}
			if asked := b.source.Asked(); len(asked) > 0 {
				t.Fatalf("a cycle asked %v", asked)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("background fetching ended with %v", err)
		}
	})
}

func TestWhatIsForgottenIsAskedAgain(t *testing.T) {
	b := newBench(t)
	measure := newCollector(b.measuring)
	asks := func() bool {
		b.source.Forget()
		measure.Collect(t.Context(), b.fleet)
		return len(b.source.Asked()) > 0
	}
	if !asks() || asks() {
		t.Fatal("a first collection asks, a second does not")
	}
	b.kept.forget(scaling.ModelKey{Namespace: collectortest.Namespace, ID: "another"})
	if asks() {
		t.Error("another model's change makes a cycle ask")
	}
	b.kept.forget(b.fleet.Variants[1].Model)
	if len(b.kept.Entries()) != 2 {
		t.Errorf("%d entries left, want those of the two other models", len(b.kept.Entries()))
	}
	if !asks() {
		t.Error("what was forgotten is not asked again")
	}
}

func TestQuestionsAreRestrictedToWhatIsServed(t *testing.T) {
	tests := []struct {
		name       string
		args       []string
		objective  bool
		namespaces []string
		buckets    bool
	}{
		{"the whole cluster", nil, false, nil, false},
		{"one namespace", []string{"--watch-namespace=team"}, false, []string{"team"}, false},
		{"models with objectives", []string{"--watch-namespace=team"}, true, []string{"team"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.args...)
			b.hasObjective = func(m scaling.ModelKey) bool { return tt.objective && m.ID == "m001" }
			newCollector(b.measuring).Collect(t.Context(), b.fleet)
			calls := b.source.Calls()
			if len(calls) == 0 {
				t.Fatal("nothing was asked")
			}
			for _, call := range calls {
				if diff := cmp.Diff(tt.namespaces, call.Namespaces); diff != "" {
					t.Errorf("%s: namespaces (-want +got):\n%s", call.Ask, diff)
				}
				if call.Ask == query.AskObjective && !slices.Equal(call.Models, []string{"m001"}) {
					t.Errorf("buckets of %q are asked for", call.Models)
				}
			}
			if got := slices.Contains(b.source.Asked(), query.AskObjective); got != tt.buckets {
				t.Errorf("buckets are asked for: %v, want %v", got, tt.buckets)
			}
		})
	}
}

func TestCollectionIsCounted(t *testing.T) {
	b := newBench(t)
	registry := prometheus.NewRegistry()
	b.instruments = metrics.New(registry, clock.RealClock{}, metrics.Options{})
	measure := newCollector(b.measuring)
	measure.Collect(t.Context(), b.fleet)
	measure.Collect(t.Context(), b.fleet)
	b.source.FailAll(fmt.Errorf("refused"))
	b.kept.Invalidate("")
	measure.Collect(t.Context(), b.fleet)
	want := `# HELP wva_collector_cache_hits_total Models whose measurement was found in the collector's cache.
# TYPE wva_collector_cache_hits_total counter
wva_collector_cache_hits_total 3
# HELP wva_collector_cache_misses_total Models whose measurement was not found in the collector's cache, or had expired.
# TYPE wva_collector_cache_misses_total counter
wva_collector_cache_misses_total 6
# HELP wva_errors_total Errors, by the component that met them.
# TYPE wva_errors_total counter
wva_errors_total{component="collector"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), metrics.CollectorCacheHits, metrics.CollectorCacheMisses, metrics.Errors); err != nil {
		t.Error(err)
	}
}

func TestACacheTooSmallForTheFleetIsCounted(t *testing.T) {
	b := newBench(t, "--prometheus-metrics-cache-max-entries=2") // three models
	registry := prometheus.NewRegistry()
	b.instruments = metrics.New(registry, clock.RealClock{}, metrics.Options{})
	newCollector(b.measuring).Collect(t.Context(), b.fleet)
	want := `# HELP wva_errors_total Errors, by the component that met them.
# TYPE wva_errors_total counter
wva_errors_total{component="cache"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), metrics.Errors); err != nil {
		t.Error(err)
	}
}

func TestTheCacheIsTheOneConfigured(t *testing.T) {
	const name = "--prometheus-metrics-cache-"
	off := newKept(parsed(t, name+"enabled=false").Collector.Cache)
	if _, ok := off.Cache.(cache.NoOp); !ok || off.run != nil {
		t.Errorf("a cache that is off is %T and has something running: %v", off.Cache, off.run != nil)
	}
	if on := newKept(parsed(t).Collector.Cache); on.run == nil {
		t.Error("expired entries are not removed")
	}

	minute := func() time.Duration { return time.Minute }
	tests := map[string]cache.Lifetime{
		"fixed":    cache.Fixed(40 * time.Second),
		"adaptive": cache.Adaptive{Min: 10 * time.Second, Max: 40 * time.Second},
	}
	for mode, want := range tests {
		got := policyOf(parsed(t, name+"mode="+mode, name+"ttl=40s").Collector.Cache, minute)
		if got != want {
			t.Errorf("%s: got %#v, want %#v", mode, got, want)
		}
	}
	if got := policyOf(parsed(t, name+"mode=interval").Collector.Cache, minute).TTL(0, 0); got != time.Minute {
		t.Errorf("interval: measurements are kept for %s, want the time between cycles", got)
	}
}

func TestWithoutACacheNothingIsFreshForLonger(t *testing.T) {
	for enabled, want := range map[string]scaling.Freshness{"true": scaling.Fresh, "false": scaling.Aging} {
		b := newBench(t, "--prometheus-metrics-cache-ttl=2m", "--prometheus-metrics-cache-enabled="+enabled)
		b.source.Clear()
		b.source.Serve(b.fleet, collectortest.Page{Interval: 15 * time.Second, Age: 90 * time.Second, KVCacheUsage: 0.5, WithoutGateway: true})
		snapshot := newCollector(b.measuring).Collect(t.Context(), b.fleet)[0]
		if got := snapshot.Replicas[0].KVCacheUsage.State; got != want {
			t.Errorf("cache enabled=%s: a page of 90s is %v, want %v", enabled, got, want)
		}
	}
}

func TestTheCacheIsShownAndEmptied(t *testing.T) {
	b := newBench(t)
	newCollector(b.measuring).Collect(t.Context(), b.fleet)
	ask := func(method, target string) string {
		w := httptest.NewRecorder()
		b.kept.handler().ServeHTTP(w, httptest.NewRequest(method, target, http.NoBody))
		return w.Body.String()
	}
	if body := ask(http.MethodGet, cachePath); !strings.Contains(body, `"replica:serving/m002"`) {
		t.Errorf("the cache does not show an entry: %s", body)
	}
	ask(http.MethodDelete, cachePath+"?prefix=replica:serving/m002")
	if body := ask(http.MethodGet, cachePath); strings.Contains(body, "m002") || !strings.Contains(body, "m001") {
		t.Errorf("not that entry and no other was dropped: %s", body)
	}
}

func TestTheExecutorsAreThoseOfTheConfiguration(t *testing.T) {
	var modes []string
	for _, mode := range executor.Modes() {
		modes = append(modes, mode.String())
	}
	if diff := cmp.Diff(config.Executors(), modes); diff != "" {
		t.Errorf("names (-configuration +executor):\n%s", diff)
	}
}

func TestOnlyAnExecutorThatListensIsWoken(t *testing.T) {
	for _, mode := range config.Executors() {
		if got, want := wakes(mode, stopped()) != nil, mode != config.ExecutorPolling; got != want {
			t.Errorf("%s: woken %v, want %v", mode, got, want)
		}
	}
}

// stopped is an executor that does not run.
func stopped() *executor.Executor {
	return executor.New(clock.RealClock{}, executor.Hybrid, func() time.Duration { return time.Minute })
}

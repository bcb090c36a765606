package collector_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// t0 is the instant of the test fleets.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// busy is a page in ordinary operation.
var busy = collectortest.Page{
	Age: 10 * time.Second, Interval: 15 * time.Second,
	KVCacheUsage: 0.5, QueueLength: 2, Running: 7, CacheTokens: 16000,
	Completions: 3, InFlightGrowth: 1, Input: 100, Output: 200, TTFT: 80, ITL: 10, GatewayQueue: 4,
}

// collect measures fleet through source.
func collect(t testing.TB, source collector.Source, fleet scaling.Fleet) []scaling.Snapshot {
	t.Helper()
	return collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{}).Collect(t.Context(), fleet)
}

// only returns the single Snapshot of a fleet with one model.
func only(t testing.TB, source collector.Source, fleet scaling.Fleet) scaling.Snapshot {
	t.Helper()
	snapshots := collect(t, source, fleet)
	if len(snapshots) != 1 {
		t.Fatalf("got %d snapshots, want 1", len(snapshots))
	}
	return snapshots[0]
}

// fresh is a Fresh reading of v.
func fresh(v float64) scaling.Reading { return scaling.Reading{Value: v, State: scaling.Fresh} }

func TestQueriesDoNotGrowWithTheFleet(t *testing.T) {
	for _, models := range []int{1, 50} {
		source, fleet := collectortest.New(), collectortest.Fleet(t0, models, 4)
		source.Serve(fleet, busy)
		collect(t, source, fleet)
		calls := source.Calls()
		if len(calls) != query.Count {
			t.Errorf("%d models: got %d queries, want %d", models, len(calls), query.Count)
		}
		for i, call := range calls {
			if call.Quantity != query.Quantity(i) || !call.At.Equal(t0) {
				t.Errorf("%d models: query %d is %s at %s, want each quantity once at the fleet's instant", models, i, call.Quantity, call.At)
			}
		}
	}
}

func TestFleetWithoutModelsAsksNothing(t *testing.T) {
	source := collectortest.New()
	if got := collect(t, source, scaling.Fleet{At: t0}); got == nil || len(got) != 0 || len(source.Calls()) != 0 {
		t.Errorf("got %v after %d queries, want no snapshot and no query", got, len(source.Calls()))
	}
}

func TestOrderOfSamplesAndPodsDoesNotMatter(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 5, 4)
	source.Serve(fleet, busy)
	source.Answer(query.QueueLengthPeak, // duplicates and ranks
		collectortest.Row(0.1, collectortest.PodLabels(collectortest.Namespace, "m001-1-rank-0", "m001")...),
		collectortest.Row(0.7, collectortest.PodLabels(collectortest.Namespace, "m001-1-rank-1", "m001")...),
		collectortest.Row(1e15, collectortest.PodLabels(collectortest.Namespace, "m001-1-rank-10", "m001")...),
		collectortest.Row(9, collectortest.PodLabels(collectortest.Namespace, "m002-1", "m002")...),
		collectortest.Row(math.NaN(), collectortest.PodLabels(collectortest.Namespace, "m003-1", "m003")...))
	want := collect(t, source, fleet)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		for _, q := range query.All() {
			rows := source.Rows(q)
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			source.Replace(q, rows)
		}
		shuffled := fleet
		shuffled.Pods = append([]scaling.Pod(nil), fleet.Pods...)
		random.Shuffle(len(shuffled.Pods), func(i, j int) {
			shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i]
		})
		if diff := cmp.Diff(want, collect(t, source, shuffled)); diff != "" {
			t.Fatalf("seed %d (-sorted +shuffled):\n%s", seed, diff)
		}
	}
}

func TestOneFailingQueryLosesOnlyItsOwnReadings(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 2)
	source.Serve(fleet, busy)
	whole := only(t, source, fleet)
	for _, q := range query.All()[query.LastScrape+1:] {
		source.Fail(q, errors.New("boom"))
		got, want := only(t, source, fleet), lose(whole, q)
		source.Fail(q, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", q, diff)
		}
	}
}

// lose returns s without the readings of q.
func lose(s scaling.Snapshot, q query.Quantity) scaling.Snapshot {
	s.Replicas = append([]scaling.ReplicaSample(nil), s.Replicas...)
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if field := map[query.Quantity]*scaling.Reading{
			query.KVCacheUsagePeak: &r.KVCacheUsage, query.KVCacheUsage: &r.KVCacheUsageNow,
			query.QueueLengthPeak: &r.QueueLength, query.QueueLength: &r.QueueLengthNow,
			query.Running: &r.Running, query.KVCapacity: &r.KVCapacity,
		}[q]; field != nil {
			*field = scaling.Reading{}
		}
	}
	if field := map[query.Quantity]*scaling.Reading{
		query.Completions: &s.Load.ArrivalRate, query.InputTokens: &s.Load.InputTokens, query.OutputTokens: &s.Load.OutputTokens,
		query.TTFT: &s.Load.TTFT, query.ITL: &s.Load.ITL, query.GatewayQueue: &s.Load.GatewayQueue,
	}[q]; field != nil {
		*field = scaling.Reading{}
	}
	if q == query.InFlightGrowth { // what is left is a lower bound
		s.Load.ArrivalRate = scaling.Reading{Value: busy.Completions, State: scaling.Aging}
	}
	return s
}

func TestFaultNamesTheQueryAndTheCause(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fail  []query.Quantity
		fault string
		calls int
	}{
		{
			"the age of the pages is unknown",
			[]query.Quantity{query.LastScrape},
			"querying last_scrape: prometheus:9090 answered HTTP 401: who are you?", 1,
		},
		{
			"nothing else is answered", query.All()[1:],
			"every other query fails, the first with: querying kv_cache_usage_peak: prometheus:9090 answered HTTP 401: who are you?", query.Count,
		},
		{"all but one fail", query.All()[2:], "", query.Count},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 2)
			source.Serve(fleet, busy)
			for _, q := range tc.fail {
				source.Fail(q, errors.New("prometheus:9090 answered HTTP 401:\nwho are you?"))
			}
			got := only(t, source, fleet)
			if got.Fault != tc.fault || len(source.Calls()) != tc.calls {
				t.Errorf("got %q after %d queries, want %q after %d", got.Fault, len(source.Calls()), tc.fault, tc.calls)
			}
			if len(got.Replicas) != 2 || len(got.Variants) != 1 || !got.At.Equal(t0) {
				t.Errorf("got %+v, want the variants and ready pods all the same", got)
			}
			if tc.fault != "" && (got.Load != scaling.Load{} || got.Replicas[0].Reports() || got.SeenModels != nil) {
				t.Errorf("got readings %+v beside a fault", got)
			}
		})
	}
}

func TestFaultIsBounded(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
	source.Fail(query.LastScrape, errors.New(strings.Repeat("é", 4000)))
	if got := only(t, source, fleet).Fault; len(got) > 600 || !strings.HasSuffix(got, "é...") {
		t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-8:])
	}
}

func TestSlowQueryIsCutOffAndTheOthersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 2)
		source.Serve(fleet, busy)
		source.Hang(query.TTFT)
		began := time.Now()
		got := collector.New(source, clock.RealClock{}, collector.Options{QueryTimeout: 3 * time.Second}).Collect(t.Context(), fleet)[0]
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s, want the timeout of one query", took)
		}
		if got.Load.TTFT.State != scaling.Absent || got.Load.ITL != fresh(10) || got.Fault != "" {
			t.Errorf("got TTFT %v, ITL %v, fault %q", got.Load.TTFT, got.Load.ITL, got.Fault)
		}
	})
}

func TestCollectReturnsWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 2)
		source.Serve(fleet, busy)
		for _, q := range query.All()[1:] {
			source.Hang(q)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		got := collector.New(source, clock.RealClock{}, collector.Options{}).Collect(ctx, fleet)[0]
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %s, want the 2s that the context has", took)
		}
		want := "every other query fails, the first with: querying kv_cache_usage_peak: context deadline exceeded"
		if got.Fault != want {
			t.Errorf("got %q, want %q", got.Fault, want)
		}
	})
}

func TestNoMoreQueriesAtOnceThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
		source.Serve(fleet, busy)
		for _, q := range query.All()[1:] {
			source.Hang(q)
		}
		began := time.Now()
		options := collector.Options{QueryTimeout: time.Second, Concurrency: 2}
		collector.New(source, clock.RealClock{}, options).Collect(t.Context(), fleet)
		if took, want := time.Since(began), 7*time.Second; took != want {
			t.Errorf("13 queries of 1s, two at a time, took %s, want %s", took, want)
		}
	})
}

func TestEveryQueryIsObservedInOrder(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
	source.Serve(fleet, busy)
	boom := errors.New("boom")
	source.Fail(query.ITL, boom)
	var names []string
	failed := map[string]error{}
	options := collector.Options{Observe: func(name string, took time.Duration, err error) {
		names = append(names, name)
		if failed[name] = err; took != 0 {
			t.Errorf("%s took %s on a clock that stands still", name, took)
		}
	}}
	collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)
	var want []string
	for _, q := range query.All() {
		want = append(want, q.String())
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	for name, err := range failed {
		if (name == query.ITL.String()) != errors.Is(err, boom) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkCollect100Models10Pods(b *testing.B) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 100, 10)
	source.Serve(fleet, busy)
	c := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{})
	b.ReportAllocs()
	for b.Loop() {
		c.Collect(b.Context(), fleet)
	}
}

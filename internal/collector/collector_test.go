package collector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	Completions: 3, InFlightGrowth: 1, Input: 100, Output: 200, TTFT: 80, ITL: 10, PrefixHits: 0.25,
	GatewayQueue: 4, GatewayArrivals: 3,
}

// serving returns a fleet and a source that serves page for it.
func serving(models, podsPerModel int, page collectortest.Page) (*collectortest.Source, scaling.Fleet) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, models, podsPerModel)
	source.Serve(fleet, page)
	return source, fleet
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

// aging is an Aging reading of v.
func aging(v float64) scaling.Reading { return scaling.Reading{Value: v, State: scaling.Aging} }

// regular are the questions of every collection.
var regular = []query.Question{
	query.AskPages, query.AskScrapeIntervals, query.AskKVCacheUsagePeak, query.AskKVCacheUsage, query.AskQueueLengthPeak,
	query.AskQueueLength, query.AskRunning, query.AskKVCapacity, query.AskGenerating, query.AskFlow, query.AskMeans, query.AskGateway,
}

// holds makes a pod one that holds so many requests and generates nothing.
func holds(s *collectortest.Source, pod, model string, requests float64) {
	for _, ask := range []query.Question{query.AskGenerating, query.AskRunning, query.AskQueueLength} {
		s.Replace(ask, slices.DeleteFunc(s.Rows(ask), func(r query.Row) bool { return r.Pod == pod && r.Model == model })...)
	}
	s.Answer(query.AskRunning, collectortest.PodRow(query.Running, collectortest.Namespace, pod, model, requests))
	s.Answer(query.AskQueueLength, collectortest.PodRow(query.QueueLength, collectortest.Namespace, pod, model, 0))
}

func TestQuestionsDoNotGrowWithTheFleet(t *testing.T) {
	for _, models := range []int{1, 50} {
		source, fleet := serving(models, 4, busy)
		collect(t, source, fleet)
		if diff := cmp.Diff(regular, source.Asked()); diff != "" {
			t.Errorf("%d models: asked (-want +got):\n%s", models, diff)
		}
	}
}

func TestSomeQuestionsAreAskedOnlyWhenTheyMatter(t *testing.T) {
	percentiles := collector.Options{Percentiles: func(m scaling.ModelKey) bool { return m.ID != "m001" }}
	for _, tc := range []struct {
		name    string
		options collector.Options
		change  func(*collectortest.Source, *scaling.Fleet)
		want    []query.Question
	}{
		{"a Ready pod without a page", collector.Options{}, func(s *collectortest.Source, _ *scaling.Fleet) {
			s.Replace(query.AskPages, s.Rows(query.AskPages)[1:]...)
		}, []query.Question{query.AskEarlierPages}},
		{"a pod without a page that is not Ready", collector.Options{}, func(s *collectortest.Source, f *scaling.Fleet) {
			s.Replace(query.AskPages, s.Rows(query.AskPages)[1:]...)
			f.Pods[0].Ready = false
		}, nil},
		{"a pod that holds requests and generates nothing", collector.Options{}, func(s *collectortest.Source, _ *scaling.Fleet) {
			holds(s, "m000-0", "m000", 3)
		}, []query.Question{query.AskStuck}},
		{"a pod that generates nothing because it holds nothing", collector.Options{}, func(s *collectortest.Source, _ *scaling.Fleet) {
			holds(s, "m000-0", "m000", 0)
		}, nil},
		{"a pod that holds requests and is not of the fleet", collector.Options{}, func(s *collectortest.Source, _ *scaling.Fleet) {
			holds(s, "m000-9", "m000", 3)
		}, nil},
		{"models with an objective", percentiles, func(*collectortest.Source, *scaling.Fleet) {}, []query.Question{query.AskObjective, query.AskPace}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := serving(3, 1, busy)
			tc.change(source, &fleet)
			collector.New(source, testingclock.NewFakePassiveClock(t0), tc.options).Collect(t.Context(), fleet)
			want := slices.Sorted(slices.Values(append(slices.Clone(regular), tc.want...)))
			if diff := cmp.Diff(want, source.Asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsCarryTheirParticulars(t *testing.T) {
	source, fleet := serving(3, 1, busy)
	source.Replace(query.AskPages, source.Rows(query.AskPages)[1:]...)
	holds(source, "m000-0", "m000", 3)
	collector.New(source, testingclock.NewFakePassiveClock(t0.Add(time.Hour)), collector.Options{
		Namespaces:  []string{"a", "b"},
		Percentiles: func(m scaling.ModelKey) bool { return m.ID != "m001" },
	}).Collect(t.Context(), fleet)
	if n := len(source.Calls()); n != query.QuestionCount-1 {
		t.Errorf("got %d questions, want all %d but that about the time before", n, query.QuestionCount)
	}
	for _, got := range source.Calls() {
		want := query.Request{Ask: got.Ask, Namespaces: []string{"a", "b"}}
		if got.Ask != query.AskPages {
			want.At = t0 // of the source's clock, not of ours
		}
		if got.Ask != query.AskPages && got.Ask != query.AskScrapeIntervals {
			want.Window = time.Minute
		}
		switch got.Ask {
		case query.AskScrapeIntervals:
			want.Pods = []string{"m001-0", "m002-0"} // those that have a page
		case query.AskKVCacheUsagePeak, query.AskQueueLengthPeak:
			want.Aged = true // one has no page
		case query.AskObjective, query.AskPace:
			want.Models = []string{"m000", "m002"}
		case query.AskStuck:
			want.Pods = []string{"m000-0"}
		default:
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Ask, diff)
		}
	}
}

// TestAFewPodsInPlaceTellHowOftenAJobScrapes: a young pod does not tell, and the
// interval is the job's.
func TestAFewPodsInPlaceTellHowOftenAJobScrapes(t *testing.T) {
	source, fleet := serving(3, 8, busy)
	fleet.Variants[0].Replicas.NewestReady = t0.Add(-time.Minute)
	fleet.Variants[1].Replicas.NewestReady = t0.Add(-time.Hour)
	collect(t, source, fleet)
	want := []string{"m001-0", "m001-1", "m001-2", "m001-3", "m001-4"}
	for _, call := range source.Calls() {
		if call.Ask == query.AskScrapeIntervals {
			if diff := cmp.Diff(want, call.Pods); diff != "" {
				t.Errorf("asked of (-want +got):\n%s", diff)
			}
		}
	}
}

func TestWithManyJobsNoPodIsNamed(t *testing.T) {
	for jobs, want := range map[int]int{500: 500, 501: 0} {
		source, fleet := serving(1, jobs, busy)
		pages := source.Rows(query.AskPages)
		for i := range pages {
			pages[i].Job = fmt.Sprint(i)
		}
		source.Replace(query.AskPages, pages...)
		collect(t, source, fleet)
		for _, call := range source.Calls() {
			if call.Ask == query.AskScrapeIntervals && len(call.Pods) != want {
				t.Errorf("%d jobs: asked of %d pods, want %d (0: all)", jobs, len(call.Pods), want)
			}
		}
	}
}

func TestPeaksReachBeyondTheWindowWhereAPageIsOlder(t *testing.T) {
	for age, want := range map[time.Duration]bool{10 * time.Second: false, time.Minute: true, 4 * time.Minute: true} {
		page := busy
		page.Age = age
		source, fleet := serving(2, 2, page)
		collect(t, source, fleet)
		for _, call := range source.Calls() {
			peak := call.Ask == query.AskKVCacheUsagePeak || call.Ask == query.AskQueueLengthPeak
			if call.Aged != (want && peak) {
				t.Errorf("pages of %s ago, window %s: %s asked with Aged %v", age, call.Window, call.Ask, call.Aged)
			}
		}
	}
}

func TestFleetWithoutModelsAsksNothing(t *testing.T) {
	source := collectortest.New(t0)
	if got := collect(t, source, scaling.Fleet{At: t0}); got == nil || len(got) != 0 || len(source.Calls()) != 0 {
		t.Errorf("got %v after %d questions, want no snapshot and no question", got, len(source.Calls()))
	}
}

func TestOrderOfRowsAndPodsDoesNotMatter(t *testing.T) {
	source, fleet := serving(5, 4, busy)
	const ns = collectortest.Namespace
	source.Answer(query.AskQueueLengthPeak, // duplicates and ranks
		collectortest.PodRow(query.QueueLengthPeak, ns, "m001-1-rank-0", "m001", 0.1),
		collectortest.PodRow(query.QueueLengthPeak, ns, "m001-1-rank-1", "m001", 0.7),
		collectortest.PodRow(query.QueueLengthPeak, ns, "m001-1-rank-10", "m001", 1e15),
		collectortest.PodRow(query.QueueLengthPeak, ns, "m002-1", "m002", 9),
		collectortest.PodRow(query.QueueLengthPeak, ns, "m003-1", "m003", math.NaN()))
	holds(source, "m004-1", "m004", 3)
	source.Answer(query.AskStuck, collectortest.PodRow(query.Stuck, ns, "m004-1", "m004", 0), collectortest.PodRow(query.Stuck, ns, "m004-1", "m004", 1))
	want := collect(t, source, fleet)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		for _, ask := range query.Questions() {
			rows := source.Rows(ask)
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			source.Replace(ask, rows...)
		}
		shuffled := fleet
		shuffled.Pods = slices.Clone(fleet.Pods)
		random.Shuffle(len(shuffled.Pods), func(i, j int) {
			shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i]
		})
		if diff := cmp.Diff(want, collect(t, source, shuffled)); diff != "" {
			t.Fatalf("seed %d (-sorted +shuffled):\n%s", seed, diff)
		}
	}
}

func TestOneFailingQuestionLosesOnlyItsOwnReadings(t *testing.T) {
	source, fleet := serving(1, 2, busy)
	whole := only(t, source, fleet)
	for _, ask := range regular[1:] {
		source.Fail(ask, errors.New("boom"))
		got, want := only(t, source, fleet), lose(whole, ask)
		source.Fail(ask, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", ask, diff)
		}
	}
}

// lose returns s without what the answer to ask is needed for.
func lose(s scaling.Snapshot, ask query.Question) scaling.Snapshot {
	s.Replicas = slices.Clone(s.Replicas)
	for i := range s.Replicas {
		r := &s.Replicas[i]
		load := []*scaling.Reading{&r.KVCacheUsage, &r.KVCacheUsageNow, &r.QueueLength, &r.QueueLengthNow, &r.Running}
		if field := map[query.Question]*scaling.Reading{
			query.AskKVCacheUsagePeak: &r.KVCacheUsage, query.AskKVCacheUsage: &r.KVCacheUsageNow,
			query.AskQueueLengthPeak: &r.QueueLength, query.AskQueueLength: &r.QueueLengthNow,
			query.AskRunning: &r.Running, query.AskKVCapacity: &r.KVCapacity,
		}[ask]; field != nil {
			*field = scaling.Reading{}
		}
		switch ask {
		case query.AskGenerating: // any replica may be stuck
			for _, field := range load {
				field.State = scaling.Aging
			}
		case query.AskScrapeIntervals: // the store may be too young
			for _, field := range append(load, &r.KVCapacity) {
				field.State = scaling.Aging
			}
		default:
		}
	}
	load := &s.Load
	switch ask {
	case query.AskScrapeIntervals:
		s.Window = 5 * time.Minute
		for _, field := range []*scaling.Reading{&load.ArrivalRate, &load.InputTokens, &load.OutputTokens, &load.TTFT, &load.ITL} {
			field.State = scaling.Aging
		}
	case query.AskFlow:
		load.ArrivalRate = aging(busy.GatewayArrivals) // of the gateway alone
	case query.AskMeans:
		absent := scaling.Reading{}
		load.InputTokens, load.OutputTokens, load.TTFT, load.ITL = absent, absent, absent, absent
	case query.AskGateway: // what is left is a lower bound
		load.ArrivalRate.State, load.GatewayQueue = scaling.Aging, scaling.Reading{}
	default:
	}
	return s
}

func TestFaultNamesTheQuestionAndTheCause(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fail  []query.Question
		fault string
		calls int
	}{
		{
			"the age of the pages is unknown",
			[]query.Question{query.AskPages},
			"querying pages: prometheus:9090 answered HTTP 401: who are you?", 1,
		},
		{
			"nothing else is answered", query.Questions()[3:],
			"every other query fails, the first with: querying kv_cache_usage_peak: prometheus:9090 answered HTTP 401: who are you?", len(regular),
		},
		{"all but one fail", query.Questions()[4:], "", len(regular)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := serving(1, 2, busy)
			for _, ask := range tc.fail {
				source.Fail(ask, errors.New("prometheus:9090 answered HTTP 401:\nwho are you?"))
			}
			got := only(t, source, fleet)
			if got.Fault != tc.fault || len(source.Calls()) != tc.calls {
				t.Errorf("got %q after %d questions, want %q after %d", got.Fault, len(source.Calls()), tc.fault, tc.calls)
			}
			if len(got.Replicas) != 2 || len(got.Variants) != 1 || !got.At.Equal(t0) {
				t.Errorf("got %+v, want the variants and ready pods all the same", got)
			}
			empty := cmp.Equal(got.Load, scaling.Load{}) && !got.Replicas[0].Reports() && got.SeenModels == nil
			if tc.fault != "" && !empty {
				t.Errorf("got readings %+v beside a fault", got)
			}
		})
	}
}

func TestFaultIsBounded(t *testing.T) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
	source.Fail(query.AskPages, errors.New(strings.Repeat("é", 4000)))
	if got := only(t, source, fleet).Fault; len(got) > 600 || !strings.HasSuffix(got, "é...") {
		t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-8:])
	}
}

func TestSlowQuestionIsCutOffAndTheOthersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(1, 2, busy)
		source.Hang(query.AskMeans)
		began := time.Now()
		got := collector.New(source, clock.RealClock{}, collector.Options{QueryTimeout: 3 * time.Second}).Collect(t.Context(), fleet)[0]
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s, want the timeout of one question", took)
		}
		if got.Load.TTFT.State != scaling.Absent || got.Load.ArrivalRate != fresh(4) || got.Fault != "" {
			t.Errorf("got TTFT %v, arrivals %v, fault %q", got.Load.TTFT, got.Load.ArrivalRate, got.Fault)
		}
	})
}

func TestCollectionEndsWithItsBudgetOrItsContext(t *testing.T) {
	for name, limit := range map[string]struct {
		options collector.Options
		context time.Duration
	}{
		"budget":  {collector.Options{Budget: 2 * time.Second}, time.Hour},
		"context": {collector.Options{}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, fleet := serving(1, 2, busy)
				for _, ask := range regular[2:] {
					source.Hang(ask)
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit.context)
				defer cancel()
				began := time.Now()
				got := collector.New(source, clock.RealClock{}, limit.options).Collect(ctx, fleet)[0]
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("took %s, want 2s", took)
				}
				want := "every other query fails, the first with: querying kv_cache_usage_peak: context deadline exceeded"
				if got.Fault != want {
					t.Errorf("got %q, want %q", got.Fault, want)
				}
			})
		})
	}
}

func TestNoMoreQuestionsAtOnceThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fleet := serving(1, 1, busy)
		for _, ask := range regular[2:] {
			source.Hang(ask)
		}
		began := time.Now()
		options := collector.Options{QueryTimeout: time.Second, Concurrency: 2}
		collector.New(source, clock.RealClock{}, options).Collect(t.Context(), fleet)
		if took, want := time.Since(began), 5*time.Second; took != want {
			t.Errorf("10 questions of 1s, two at a time, took %s, want %s", took, want)
		}
	})
}

func TestEveryQuestionIsObservedInOrder(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	boom := errors.New("boom")
	source.Fail(query.AskMeans, boom)
	var names []string
	failed := map[string]error{}
	var fetches []error
	options := collector.Options{
		Observe: func(name string, took time.Duration, err error) {
			names = append(names, name)
			if failed[name] = err; took != 0 {
				t.Errorf("%s took %s on a clock that stands still", name, took)
			}
		},
		ObserveFetch: func(_ time.Duration, err error) { fetches = append(fetches, err) },
	}
	collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)
	want := []string{query.AskPages.String(), query.AskScrapeIntervals.String()}
	for _, ask := range regular[2:] {
		want = append(want, ask.String())
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	for name, err := range failed {
		if (name == query.AskMeans.String()) != errors.Is(err, boom) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(fetches) != 1 || fetches[0].Error() != "1 of 12 queries fail, the first with: querying means: boom" {
		t.Errorf("got %v, want one fetch that is not complete", fetches)
	}
}

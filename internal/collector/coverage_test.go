package collector_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// never is the age of a page that there is not.
const never = -1

// unevenly returns a model of which each pod was last scraped the given time ago.
func unevenly(page collectortest.Page, ages ...time.Duration) (*collectortest.Source, scaling.Fleet) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, len(ages))
	for i, age := range ages {
		if age == never {
			continue
		}
		one := fleet
		one.Pods, page.Age = fleet.Pods[i:i+1], age
		source.Serve(one, page)
	}
	return source, fleet
}

// loadStates are the states of the numbers of a model that come from its pods.
func loadStates(l scaling.Load) map[string]scaling.Freshness {
	return map[string]scaling.Freshness{
		"arrivals": l.ArrivalRate.State, "input": l.InputTokens.State, "output": l.OutputTokens.State,
		"ttft": l.TTFT.State, "itl": l.ITL.State, "hits": l.PrefixHits.State,
		"ttft buckets": l.TTFTBuckets.State, "itl buckets": l.ITLBuckets.State,
	}
}

func TestNumbersOfAModelAreFreshWhileMostPodsAre(t *testing.T) {
	const late, gone = 3 * time.Minute, 20 * time.Minute
	for _, tc := range []struct {
		name     string
		ages     []time.Duration
		notReady int // of the first pods
		want     scaling.Freshness
	}{
		{"all fresh", []time.Duration{0, 0, 0}, 0, scaling.Fresh},
		{"one late", []time.Duration{late, 0, 0}, 0, scaling.Fresh},
		{"half late", []time.Duration{late, late, 0, 0}, 0, scaling.Aging},
		{"all but one late", []time.Duration{late, late, 0}, 0, scaling.Aging},
		{"one stale", []time.Duration{gone, 0, 0}, 0, scaling.Fresh},
		{"one never seen", []time.Duration{never, 0, 0}, 0, scaling.Fresh},
		{"half never seen", []time.Duration{never, never, 0, 0}, 0, scaling.Aging},
		{"one late that is not Ready", []time.Duration{late, 0, 0}, 1, scaling.Fresh},
		{"one never seen that is not Ready", []time.Duration{never, 0, 0}, 1, scaling.Fresh},
		{"the only page is of a pod that is not Ready", []time.Duration{0, never, never}, 1, scaling.Aging},
		{"late and stale", []time.Duration{late, gone}, 0, scaling.Aging},
		{"all stale", []time.Duration{gone, gone}, 0, scaling.Stale},
		{"none seen", []time.Duration{never, never}, 0, scaling.Absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := busy
			page.WithoutGateway = true
			source, fleet := unevenly(page, tc.ages...)
			source.Answer(query.AskObjective, bucket(query.TTFTBuckets, 100, 1), bucket(query.TTFTBuckets, math.Inf(1), 1),
				bucket(query.ITLBuckets, 100, 1), bucket(query.ITLBuckets, math.Inf(1), 1))
			for i := range tc.notReady {
				fleet.Pods[i].Ready = false
			}
			options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }}
			got := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0].Load
			for number, state := range loadStates(got) {
				if state != tc.want {
					t.Errorf("%s: got %v, want %v", number, state, tc.want)
				}
			}
		})
	}
}

func TestOnlyPagesOfEveryPodMakeAMissingCounterZero(t *testing.T) {
	for _, tc := range []struct {
		name string
		age  time.Duration // of the page of one pod of ten
		want scaling.Reading
	}{
		{"every pod is fresh", 0, fresh(0)},
		{"one is late", 3 * time.Minute, scaling.Reading{}},
		{"one is stale", 20 * time.Minute, scaling.Reading{}},
		{"one was never seen", never, scaling.Reading{}},
	} {
		page := busy
		page.InFlightGrowth, page.WithoutGateway = 0, true
		ages := make([]time.Duration, 10)
		ages[4] = tc.age
		source, fleet := unevenly(page, ages...)
		source.Drop(query.AskFlow, query.Completions)
		if got := only(t, source, fleet).Load.ArrivalRate; got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestAYoungPodNeedNotHaveAPage: so that a rollout does not keep every number
// from being Fresh. Two scrape intervals and the TTL are 1m.
func TestAYoungPodNeedNotHaveAPage(t *testing.T) {
	ready := func(ago time.Duration) time.Time { return t0.Add(-ago) }
	for _, tc := range []struct {
		name   string
		newest time.Time
		ages   []time.Duration
		want   scaling.Freshness
	}{
		{"just Ready", ready(0), []time.Duration{0, never}, scaling.Fresh},
		{"Ready for just below the grace", ready(time.Minute - 1), []time.Duration{0, never}, scaling.Fresh},
		{"Ready for the grace", ready(time.Minute), []time.Duration{0, never}, scaling.Aging},
		{"since when is unknown", time.Time{}, []time.Duration{0, never}, scaling.Aging},
		{"one is young and another silent", ready(0), []time.Duration{0, never, never}, scaling.Fresh},
		{"one is young and half are silent", ready(0), []time.Duration{0, never, never, never}, scaling.Aging},
		{"its page is late: it was seen before", ready(0), []time.Duration{0, 2 * time.Minute}, scaling.Aging},
		{"nothing but a young pod", ready(0), []time.Duration{never}, scaling.Absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := unevenly(busy, tc.ages...)
			fleet.Variants[0].Replicas.NewestReady = tc.newest
			clk := testingclock.NewFakeClock(t0)
			options := collector.Options{Cache: cache.New(clk, cache.Options{}), TTL: cache.Fixed(30 * time.Second)}
			if got := collector.New(source, clk, options).Collect(t.Context(), fleet)[0].Load.TTFT.State; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAYoungPodWithoutAPageHasNotCountedNothing(t *testing.T) {
	page := busy
	page.InFlightGrowth, page.WithoutGateway = 0, true
	source, fleet := unevenly(page, 0, never)
	fleet.Variants[0].Replicas.NewestReady = t0
	source.Drop(query.AskFlow, query.Completions)
	want := scaling.Load{
		PrefixHits: scaling.Reading{State: scaling.NotApplicable}, InputTokens: fresh(page.Input), OutputTokens: fresh(page.Output),
		TTFT: fresh(page.TTFT), ITL: fresh(page.ITL), GatewayQueue: scaling.Reading{State: scaling.NotApplicable},
		TTFTBuckets: scaling.Histogram{State: scaling.NotApplicable}, ITLBuckets: scaling.Histogram{State: scaling.NotApplicable}, RequestITLBuckets: scaling.Histogram{State: scaling.NotApplicable},
	}
	if diff := cmp.Diff(want, only(t, source, fleet).Load); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
}

package collector_test

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// uncached keeps nothing, so that the limits are the bare ones.
const uncached = cache.Fixed(0)

func TestLimitsFollowTheScrapeInterval(t *testing.T) {
	for _, tc := range []struct {
		interval, ttl time.Duration
		want          collector.Limits
	}{
		{0, 0, collector.Limits{Fresh: time.Minute, Aging: 5 * time.Minute}},
		{15 * time.Second, 0, collector.Limits{Fresh: time.Minute, Aging: 5 * time.Minute}},
		{15 * time.Second, 45 * time.Second, collector.Limits{Fresh: 75 * time.Second, Aging: 5 * time.Minute}},
		{time.Minute, 0, collector.Limits{Fresh: 2 * time.Minute, Aging: 5 * time.Minute}},
		{2 * time.Minute, 0, collector.Limits{Fresh: 4 * time.Minute, Aging: 8 * time.Minute}},
	} {
		if got := collector.DefaultLimits().For(tc.interval, tc.ttl); got != tc.want {
			t.Errorf("interval %s, TTL %s: got %+v, want %+v", tc.interval, tc.ttl, got, tc.want)
		}
	}
}

func TestWithoutACacheNothingIsFreshForLonger(t *testing.T) {
	page := busy
	page.Interval, page.Age = 30*time.Second, time.Minute
	for _, options := range []collector.Options{{}, {TTL: cache.Fixed(time.Hour)}, {TTL: cache.Fixed(time.Hour), Cache: cache.NoOp{}}} {
		source, fleet := serving(1, 1, page)
		got := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0]
		if r := got.Replicas[0].QueueLength; r != aging(2) {
			t.Errorf("%+v: got %v", options.TTL, r)
		}
	}
}

// states are the states of everything that a page says.
func states(s scaling.Snapshot) map[string]scaling.Freshness {
	r := s.Replicas[0]
	return map[string]scaling.Freshness{
		"usage": r.KVCacheUsage.State, "usage now": r.KVCacheUsageNow.State, "queue": r.QueueLength.State,
		"queue now": r.QueueLengthNow.State, "running": r.Running.State, "capacity": r.KVCapacity.State,
		"arrivals": s.Load.ArrivalRate.State, "input": s.Load.InputTokens.State, "ttft": s.Load.TTFT.State,
	}
}

func TestPageAgesFromFreshToStale(t *testing.T) {
	for _, tc := range []struct {
		interval time.Duration
		ttl      cache.Lifetime
		age      time.Duration
		want     scaling.Freshness
	}{
		{15 * time.Second, uncached, -time.Second, scaling.Fresh}, // scraped by a clock that is ahead
		{15 * time.Second, uncached, 0, scaling.Fresh},
		{15 * time.Second, uncached, time.Minute - time.Millisecond, scaling.Fresh},
		{15 * time.Second, uncached, time.Minute, scaling.Aging},
		{15 * time.Second, uncached, 5*time.Minute - time.Millisecond, scaling.Aging},
		{15 * time.Second, uncached, 5 * time.Minute, scaling.Stale},
		{time.Minute, uncached, 2*time.Minute - time.Millisecond, scaling.Fresh},
		{time.Minute, uncached, 2 * time.Minute, scaling.Aging},
		{15 * time.Second, cache.Fixed(time.Minute), 90*time.Second - time.Millisecond, scaling.Fresh},
		{15 * time.Second, cache.Fixed(time.Minute), 90 * time.Second, scaling.Aging},
		{15 * time.Second, cache.Adaptive{Min: time.Second, Max: time.Minute}, 90*time.Second - time.Millisecond, scaling.Fresh},
		{0, uncached, 0, scaling.Aging}, // the interval is not known: the store is young
		{0, uncached, 5 * time.Minute, scaling.Stale},
	} {
		page := busy
		page.Interval, page.Age, page.WithoutGateway = tc.interval, tc.age, true
		source, fleet := serving(1, 1, page)
		clk := testingclock.NewFakeClock(t0)
		c := collector.New(source, clk, collector.Options{TTL: tc.ttl, Cache: cache.New(clk, cache.Options{})})
		s := c.Collect(t.Context(), fleet)[0]
		for name, got := range states(s) {
			if got != tc.want {
				t.Errorf("interval %s, age %s: %s is %v, want %v", tc.interval, tc.age, name, got, tc.want)
			}
		}
		if at := s.Replicas[0].At; !at.Equal(t0.Add(-tc.age)) {
			t.Errorf("interval %s, age %s: scraped at %s", tc.interval, tc.age, at)
		}
	}
}

func TestAgeIsAMatterOfTheSourcesClock(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, -time.Minute, time.Minute, time.Hour} {
		for age, want := range map[time.Duration]scaling.Freshness{
			10 * time.Second: scaling.Fresh, 2 * time.Minute: scaling.Aging, 6 * time.Minute: scaling.Stale,
		} {
			source, fleet := collectortest.New(t0.Add(skew)), collectortest.Fleet(t0, 1, 1)
			page := busy
			page.Age = age
			source.Serve(fleet, page)
			s := only(t, source, fleet)
			for name, got := range states(s) {
				if got != want {
					t.Errorf("skew %s, age %s: %s is %v, want %v", skew, age, name, got, want)
				}
			}
			if at := s.Replicas[0].At; !at.Equal(t0.Add(-age)) {
				t.Errorf("skew %s, age %s: scraped at %s on our clock", skew, age, at)
			}
		}
	}
}

func TestMissingGaugeIsStaleOnlyOnAStalePage(t *testing.T) {
	for age, want := range map[time.Duration]scaling.Freshness{
		0: scaling.Absent, 2 * time.Minute: scaling.Absent, 6 * time.Minute: scaling.Stale,
	} {
		page := busy
		page.Age = age
		source, fleet := serving(1, 1, page)
		source.Replace(query.AskKVCacheUsagePeak)
		if got := only(t, source, fleet).Replicas[0].KVCacheUsage; got != (scaling.Reading{State: want}) {
			t.Errorf("age %s: got %v, want %v", age, got, want)
		}
	}
}

func TestValuesWithoutAPageAreAbsent(t *testing.T) {
	page := busy
	page.WithoutGateway = true
	source, fleet := serving(1, 1, page)
	source.Replace(query.AskPages)
	got := only(t, source, fleet)
	if r := got.Replicas[0]; r.Reports() || !r.At.IsZero() || got.Load.ArrivalRate != (scaling.Reading{}) {
		t.Errorf("got %+v, %+v", r, got.Load)
	}
}

func TestAnEarlierPageTellsStaleFromAbsent(t *testing.T) {
	source, fleet := serving(1, 2, busy)
	rows := source.Rows(query.AskPages)
	rows[1].Value = scrapedAgo(8 * time.Minute)
	source.Replace(query.AskPages, rows[0])
	source.Replace(query.AskEarlierPages, rows...)
	for _, ask := range []query.Question{query.AskKVCacheUsagePeak, query.AskKVCacheUsage, query.AskQueueLengthPeak, query.AskQueueLength, query.AskRunning} {
		source.Replace(ask, source.Rows(ask)[0])
	}
	got := only(t, source, fleet).Replicas
	if got[0].QueueLength != fresh(2) || got[1].QueueLength.State != scaling.Stale || !got[1].At.Equal(t0.Add(-8*time.Minute)) {
		t.Errorf("got %v and %v, the latter scraped at %s", got[0].QueueLength, got[1].QueueLength, got[1].At)
	}
}

func TestWindowSpansFourScrapes(t *testing.T) {
	interval := func(job string, seconds float64) query.Row {
		return query.Row{Quantity: query.ScrapeInterval, Namespace: collectortest.Namespace, Job: job, Value: seconds}
	}
	elsewhere := interval("a", 60)
	elsewhere.Namespace = "other"
	for _, tc := range []struct {
		name string
		rows []query.Row
		want time.Duration
	}{
		{"unknown", nil, 5 * time.Minute},
		{"never less than a minute", []query.Row{interval("a", 1)}, time.Minute},
		{"15s", []query.Row{interval("a", 15)}, time.Minute},
		{"15s, one scrape more or less", []query.Row{interval("a", 300./19), interval("b", 300./21)}, time.Minute},
		{"30s", []query.Row{interval("a", 30)}, 2 * time.Minute},
		{"1m", []query.Row{interval("a", 60)}, 4 * time.Minute},
		{"the slowest job", []query.Row{interval("a", 15), interval("b", 30)}, 2 * time.Minute},
		{"a job that is not known yet has no say", []query.Row{interval("a", 30)}, 2 * time.Minute},
		{"bounded", []query.Row{interval("a", 300)}, 10 * time.Minute},
		{"what is no interval says nothing", []query.Row{interval("a", 0), interval("b", -3)}, 5 * time.Minute},
		{"a job without a pod", []query.Row{interval("c", 60), elsewhere}, 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 2)
			for i, job := range []string{"a", "b"} {
				source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0), ofPod(fleet.Pods[i].Name), ofJob(job)))
			}
			source.Answer(query.AskScrapeIntervals, tc.rows...)
			if got := only(t, source, fleet).Window; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			for _, call := range source.Calls()[2:] {
				if call.Window != tc.want {
					t.Errorf("%s was asked over %s", call.Ask, call.Window)
				}
			}
		})
	}
}

func TestAJobWithoutAnIntervalIsAgingWhileOthersAreFresh(t *testing.T) {
	source, fleet := serving(1, 2, busy)
	rows := source.Rows(query.AskPages)
	rows[1].Job = "young"
	source.Replace(query.AskPages, rows...)
	got := only(t, source, fleet).Replicas
	if got[0].QueueLength != fresh(2) || got[1].QueueLength != aging(2) {
		t.Errorf("got %v and %v", got[0].QueueLength, got[1].QueueLength)
	}
}

// TestNothingIsKnownOfAnIdleModelAfterARestartOfTheStore: pages that were just
// scraped, and not two samples of anything.
func TestNothingIsKnownOfAnIdleModelAfterARestartOfTheStore(t *testing.T) {
	page := busy
	page.Interval, page.WithoutRequests, page.KVCacheUsage, page.QueueLength, page.Running = 0, true, 0, 0, 0
	source, fleet := serving(1, 2, page)
	source.Replace(query.AskFlow)
	source.Drop(query.AskGateway, query.GatewayArrivals)
	got := only(t, source, fleet)
	if r := got.Load.ArrivalRate; r != (scaling.Reading{}) {
		t.Errorf("got arrivals of %v, want none known", r)
	}
	for _, r := range got.Replicas {
		if r.QueueLength != aging(0) {
			t.Errorf("%s: got a queue of %v, which may not shrink anything", r.Pod, r.QueueLength)
		}
	}
}

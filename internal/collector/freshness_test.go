package collector_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

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

func TestPageAgesFromFreshToStale(t *testing.T) {
	for _, tc := range []struct {
		interval, age time.Duration
		want          scaling.Freshness
	}{
		{15 * time.Second, -time.Second, scaling.Fresh}, // a clock ahead of ours
		{15 * time.Second, 0, scaling.Fresh},
		{15 * time.Second, time.Minute - time.Millisecond, scaling.Fresh},
		{15 * time.Second, time.Minute, scaling.Aging},
		{15 * time.Second, 5*time.Minute - time.Millisecond, scaling.Aging},
		{15 * time.Second, 5 * time.Minute, scaling.Stale},
		{time.Minute, 2*time.Minute - time.Millisecond, scaling.Fresh},
		{time.Minute, 2 * time.Minute, scaling.Aging},
		{0, time.Minute, scaling.Aging},
	} {
		source, fleet, page := collectortest.New(), collectortest.Fleet(t0, 1, 1), busy
		page.Interval, page.Age = tc.interval, tc.age
		source.Serve(fleet, page)
		s := only(t, source, fleet)
		r := s.Replicas[0]
		for name, got := range map[string]scaling.Freshness{
			"usage": r.KVCacheUsage.State, "usage now": r.KVCacheUsageNow.State, "queue": r.QueueLength.State,
			"queue now": r.QueueLengthNow.State, "running": r.Running.State, "capacity": r.KVCapacity.State,
			"arrivals": s.Load.ArrivalRate.State, "input": s.Load.InputTokens.State, "ttft": s.Load.TTFT.State,
			"gateway": s.Load.GatewayQueue.State,
		} {
			if got != tc.want {
				t.Errorf("interval %s, age %s: %s is %v, want %v", tc.interval, tc.age, name, got, tc.want)
			}
		}
		if !r.At.Equal(t0.Add(-tc.age)) {
			t.Errorf("interval %s, age %s: scraped at %s", tc.interval, tc.age, r.At)
		}
	}
}

func TestMissingGaugeIsStaleOnlyOnAStalePage(t *testing.T) {
	for age, want := range map[time.Duration]scaling.Freshness{
		0: scaling.Absent, 2 * time.Minute: scaling.Absent, 6 * time.Minute: scaling.Stale,
	} {
		source, fleet, page := collectortest.New(), collectortest.Fleet(t0, 1, 1), busy
		page.Age = age
		source.Serve(fleet, page)
		source.Replace(query.KVCacheUsagePeak, nil)
		if got := only(t, source, fleet).Replicas[0].KVCacheUsage; got != (scaling.Reading{State: want}) {
			t.Errorf("age %s: got %v, want %v", age, got, want)
		}
	}
}

func TestValuesWithoutAPageAreAbsent(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
	source.Serve(fleet, busy)
	source.Replace(query.LastScrape, nil)
	got := only(t, source, fleet)
	if r := got.Replicas[0]; r.Reports() || !r.At.IsZero() || got.Load.ArrivalRate != (scaling.Reading{}) {
		t.Errorf("got %+v, %+v", r, got.Load)
	}
}

func TestWindowSpansFourScrapes(t *testing.T) {
	scrapes := func(n float64, pod, job string) collector.Sample {
		return collectortest.Row(n, append(collectortest.PodLabels(collectortest.Namespace, pod, "m000"), "job", job, "stat", "scrapes")...)
	}
	for _, tc := range []struct {
		name string
		rows []collector.Sample
		want time.Duration
	}{
		{"unknown", nil, 5 * time.Minute},
		{"never less than a minute", []collector.Sample{scrapes(300, "m000-0", "a")}, time.Minute},
		{"15s", []collector.Sample{scrapes(20, "m000-0", "a")}, time.Minute},
		{"15s, one scrape more or less", []collector.Sample{scrapes(19, "m000-0", "a"), scrapes(21, "m000-0", "b")}, time.Minute},
		{"30s", []collector.Sample{scrapes(10, "m000-0", "a")}, 2 * time.Minute},
		{"1m", []collector.Sample{scrapes(5, "m000-0", "a")}, 4 * time.Minute},
		{"the slowest job", []collector.Sample{scrapes(20, "m000-0", "a"), scrapes(10, "m000-1", "b")}, 2 * time.Minute},
		{"the median pod of a job", []collector.Sample{scrapes(20, "m000-0", "a"), scrapes(2, "m000-1", "a"), scrapes(20, "m000-2", "a")}, time.Minute},
		{"bounded", []collector.Sample{scrapes(1, "m000-0", "a")}, 10 * time.Minute},
		{"no scrape says nothing", []collector.Sample{scrapes(0, "m000-0", "a")}, 5 * time.Minute},
		{"a pod of nobody", []collector.Sample{scrapes(5, "x", "a")}, 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 3)
			source.Answer(query.LastScrape, tc.rows...)
			if got := only(t, source, fleet).Window; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			for _, call := range source.Calls()[1:] {
				if call.Expr != call.Quantity.Expr(tc.want) {
					t.Errorf("%s was not asked over %s: %s", call.Quantity, tc.want, call.Expr)
				}
			}
		})
	}
}

// golden decodes the recorded cases of one area, or skips the test where they
// are not at hand.
func golden(t *testing.T, area string) []goldenCase {
	t.Helper()
	shared := os.Getenv("WVA_SHARED")
	if shared == "" {
		t.Skip("WVA_SHARED not set")
	}
	content, err := os.ReadFile(filepath.Join(shared, "golden", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all, cases []goldenCase
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Area == area {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("no golden case of area %s", area)
	}
	return cases
}

// goldenCase is one recorded case.
type goldenCase struct {
	ID, Area, Case string
	Inputs         struct {
		AgeSeconds float64   `json:"ageSeconds"`
		Ages       []float64 `json:"ages_s"`
		QueryError string    `json:"query_error"`
	}
	Expected struct {
		Status    string
		Available bool
		Reason    string
	}
}

func TestGoldenFreshness(t *testing.T) {
	// The recordings call Aging "stale" and Stale "unavailable".
	names := map[scaling.Freshness]string{scaling.Fresh: "fresh", scaling.Aging: "stale", scaling.Stale: "unavailable"}
	for _, c := range golden(t, "freshness") {
		age := time.Duration(c.Inputs.AgeSeconds * float64(time.Second))
		if got := names[collector.DefaultLimits().State(age)]; got != c.Expected.Status {
			t.Errorf("%s (%s): got %s, want %s", c.ID, c.Case, got, c.Expected.Status)
		}
	}
}

func TestGoldenMetricsAvailability(t *testing.T) {
	// What the status says is the controller's; here is what it is told. Two
	// recordings do not apply: "prom api nil", because a Collector always has a
	// source, and "non vector", because a source answers with nothing else: the
	// Prometheus source reports such an answer as an error.
	deviations := map[string]bool{"prom api nil": true, "non vector": true}
	for _, c := range golden(t, "metrics-availability") {
		if deviations[c.Case] {
			continue
		}
		source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, max(len(c.Inputs.Ages), 1))
		if c.Inputs.QueryError != "" {
			source.FailAll(errors.New(c.Inputs.QueryError))
		}
		for i, age := range c.Inputs.Ages {
			pod, page := fleet, busy
			pod.Pods, page.Age = fleet.Pods[i:i+1], time.Duration(age)*time.Second
			source.Serve(pod, page)
		}
		if available, reason := availability(only(t, source, fleet)); available != c.Expected.Available || reason != c.Expected.Reason {
			t.Errorf("%s (%s): got %v, %s, want %v, %s", c.ID, c.Case, available, reason, c.Expected.Available, c.Expected.Reason)
		}
	}
}

// availability is what a recorded status says of a Snapshot: one stale pod is
// enough to doubt the model.
func availability(s scaling.Snapshot) (available bool, reason string) {
	if s.Fault != "" {
		return false, "PrometheusError"
	}
	for _, r := range s.Replicas {
		switch {
		case r.KVCacheUsage.State == scaling.Stale:
			return false, "MetricsStale"
		case !r.Reports():
			return false, "MetricsMissing"
		}
	}
	return true, "MetricsFound"
}

package collector

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestCutRank(t *testing.T) {
	for name, want := range map[string][2]string{
		"pod":               {"pod", ""},
		"pod-rank-0":        {"pod", "0"},
		"pod-rank-12":       {"pod", "12"},
		"pod-rank-":         {"pod-rank-", ""},
		"pod-rank-1x":       {"pod-rank-1x", ""},
		"a-rank-1-rank-2":   {"a-rank-1", "2"},
		"first-rank-models": {"first-rank-models", ""},
		"-rank-0":           {"", "0"},
	} {
		if pod, rank := cutRank(name); pod != want[0] || rank != want[1] {
			t.Errorf("%q: got %q, %q, want %q", name, pod, rank, want)
		}
	}
}

func FuzzCutRank(f *testing.F) {
	f.Add("pod-rank-0")
	f.Fuzz(func(t *testing.T, name string) {
		pod, rank := cutRank(name)
		if rank == "" && pod != name || rank != "" && pod+"-rank-"+rank != name || strings.ContainsAny(rank, "-ranks ") {
			t.Errorf("%q: got %q, %q", name, pod, rank)
		}
	})
}

func TestIntervalsAreRounded(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{
		0.2: time.Second, 1: time.Second, 4.6: 5 * time.Second, 14.3: 15 * time.Second, 15.8: 15 * time.Second,
		29: 30 * time.Second, 61: time.Minute, 100: 90 * time.Second, 1e6: longestInterval, math.MaxFloat64: longestInterval,
	} {
		if got := rounded(seconds); got != want {
			t.Errorf("%v: got %s, want %s", seconds, got, want)
		}
	}
}

func TestTimesAreExactToTheMillisecond(t *testing.T) {
	if got := unixMilli(1772366400.123); got != 1772366400123 {
		t.Errorf("got %d", got)
	}
	for v, ok := range map[float64]bool{0: true, 1772366400: true, lastInstant: true, 3e11: false, math.MaxFloat64: false, -1: false, math.Inf(1): false} {
		if got := instant(v); math.IsNaN(got) == ok {
			t.Errorf("%v: got %v, want a time: %v", v, got, ok)
		}
	}
}

func TestPageOfSeveralJobsIsAsFreshAsTheFreshestAtAnyTime(t *testing.T) {
	fast := job{"n", "fast"}
	slow := job{"n", "slow"}
	l := limits{least: DefaultLimits(), intervals: intervals{fast: 15 * time.Second, slow: 2 * time.Minute}}
	pages := []pageTimes{l.pageTimes(fast, 1000), l.pageTimes(slow, 950), l.pageTimes(job{"n", "unknown"}, 1020)}
	folded := pages[0].newer(pages[1]).newer(pages[2])
	for now := int64(900_000); now < 2_000_000; now += 1000 {
		want := scaling.Absent
		for _, p := range pages {
			want = max(want, p.state(now))
		}
		if got := folded.state(now); got != want {
			t.Fatalf("at %d: got %v, want %v", now, got, want)
		}
	}
}

// TestNumbersAreLaidOutInCatalogueOrder fails when a quantity is added among
// those that a sheet keeps side by side.
func TestNumbersAreLaidOutInCatalogueOrder(t *testing.T) {
	for _, q := range query.All() {
		gauge := q >= firstGauge && q < firstGauge+gauges
		if want := q.Scope() == query.PerPod && q != query.PageTime && q != query.Generating && q != query.Resets && q != query.Stuck; gauge != want {
			t.Errorf("%s: kept as a number of a pod is %v, want %v", q, gauge, want)
		}
		flow := q >= firstFlow && q < firstFlow+flowCount
		if want := q.Scope() == query.PerModel && q != query.TTFTBuckets && q != query.ITLBuckets && q != query.RequestITLBuckets && q != query.NoRequestSince; flow != want {
			t.Errorf("%s: kept as a number of a model is %v, want %v", q, flow, want)
		}
	}
}

func TestMovement(t *testing.T) {
	base := func() *modelAnswer {
		p := newPodRow("p")
		*p.gauge(query.KVCacheUsagePeak), *p.gauge(query.QueueLengthPeak), *p.gauge(query.Running) = 0.5, 20, 40
		s := &modelAnswer{flows: newFlows(), pods: []podRow{p}, picker: picker{queue: math.NaN(), arrivals: math.NaN()}}
		*s.flows.of(query.Completions) = 10
		return s
	}
	for _, tc := range []struct {
		name   string
		change func(*modelAnswer)
		want   float64
	}{
		{"nothing", func(*modelAnswer) {}, 0},
		{"KV cache usage by its difference", func(s *modelAnswer) { *s.pods[0].gauge(query.KVCacheUsagePeak) = 0.7 }, 0.2},
		{"a queue by its part", func(s *modelAnswer) { *s.pods[0].gauge(query.QueueLengthPeak) = 15 }, 0.25},
		{"running requests by their part", func(s *modelAnswer) { *s.pods[0].gauge(query.Running) = 50 }, 0.2},
		{"completions by their part", func(s *modelAnswer) { *s.flows.of(query.Completions) = 20 }, 0.5},
		{"a number that is missing", func(s *modelAnswer) { *s.flows.of(query.Completions) = math.NaN() }, 1},
		{"a number that is none", func(s *modelAnswer) { *s.flows.of(query.Completions) = garbage }, 1},
		{"a gateway that appears", func(s *modelAnswer) { s.picker.queue = 0 }, 1},
		{"another replica", func(s *modelAnswer) { s.pods = append(s.pods, newPodRow("q")) }, 1},
	} {
		s := base()
		tc.change(s)
		if got := s.movedSince(base()); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
		if there, back := s.movedSince(base()), base().movedSince(s); there != back {
			t.Errorf("%s: got %v there and %v back", tc.name, there, back)
		}
	}
	few, fewer := base(), base()
	*few.pods[0].gauge(query.QueueLengthPeak), *fewer.pods[0].gauge(query.QueueLengthPeak) = 1, 0
	if got := few.movedSince(fewer); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("one request of few: got %v, want a fifth", got)
	}
}

package collector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// shared returns a fleet of one model in each of some namespaces, whose jobs scrape
// every so many seconds, and a source that serves it.
func shared(intervals map[string]int) (*collectortest.Source, scaling.Fleet) {
	source, all := collectortest.New(t0), scaling.Fleet{At: t0}
	for namespace, seconds := range intervals {
		fleet := collectortest.Fleet(t0, 1, 2)
		for i := range fleet.Variants {
			fleet.Variants[i].Key.Namespace, fleet.Variants[i].Model.Namespace = namespace, namespace
		}
		for i := range fleet.Pods {
			fleet.Pods[i].Namespace, fleet.Pods[i].Variant.Namespace = namespace, namespace
		}
		page := busy
		page.Interval = time.Duration(seconds) * time.Second
		source.Serve(fleet, page)
		all.Variants, all.Pods = append(all.Variants, fleet.Variants...), append(all.Pods, fleet.Pods...)
	}
	return source, all
}

// windowsOf returns the windows of snapshots by namespace.
func windowsOf(snapshots []scaling.Snapshot) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, s := range snapshots {
		out[s.Model.Namespace] = s.Window
	}
	return out
}

// TestASlowJobWidensTheWindowOfItsNamespaceAlone: with one window for all, a job that
// scrapes every 150 s made all others see what happened within ten minutes.
func TestASlowJobWidensTheWindowOfItsNamespaceAlone(t *testing.T) {
	source, fleet := shared(map[string]int{"good": 15, "slow": 150, "usual": 30})
	snapshots := collect(t, source, fleet)
	got := windowsOf(snapshots)
	if got["good"] != time.Minute || got["usual"] != 2*time.Minute || got["slow"] != 10*time.Minute {
		t.Errorf("windows are %v, want 1m for 15s, 2m for 30s and 10m for 150s", got)
	}
	for _, s := range snapshots {
		if s.Fault != "" || s.Load.ArrivalRate != fresh(4) || len(s.Replicas) != 2 || s.Replicas[0].QueueLength != fresh(2) {
			t.Errorf("%s: arrivals of %v and %+v (%s), want those of its pages", s.Model, s.Load.ArrivalRate, s.Replicas, s.Fault)
		}
	}
}

// TestQuestionsDoNotGrowWithTheNamespaces: they are asked once for each window, of
// which there are four; a namespace whose pace is not known has the shortest of them.
func TestQuestionsDoNotGrowWithTheNamespaces(t *testing.T) {
	intervals := map[string]int{}
	for i := range 40 {
		intervals[fmt.Sprint("n", i)] = []int{0, 15, 30, 60, 150}[i%5]
	}
	source, fleet := shared(intervals)
	collect(t, source, fleet)
	if got, want := len(source.Calls()), 2+4*10; got != want {
		t.Errorf("%d questions are asked for 40 namespaces, want %d", got, want)
	}
	for _, call := range source.Calls()[2:] {
		want := 8
		if call.Window == time.Minute {
			want = 16
		}
		if len(call.Namespaces) != want || !slices.IsSorted(call.Namespaces) {
			t.Errorf("%s over %s is asked of %v, want of the %d namespaces with that window", call.Ask, call.Window, call.Namespaces, want)
		}
	}
}

// failsOver fails questions over one window.
type failsOver struct {
	collector.Source
	window time.Duration
}

func (f failsOver) Ask(ctx context.Context, r query.Request) (query.Answer, error) {
	if r.Window == f.window {
		return query.Answer{}, errors.New("the answer is too large")
	}
	return f.Source.Ask(ctx, r)
}

func TestQuestionsThatFailOverOneWindowLeaveOthersAlone(t *testing.T) {
	source, fleet := shared(map[string]int{"good": 15, "slow": 150})
	clk := testingclock.NewFakeClock(t0)
	c := collector.New(failsOver{source, 10 * time.Minute}, clk, collector.Options{Cache: cache.New(clk, cache.Options{})})
	for _, s := range c.Collect(t.Context(), fleet) {
		if failed := s.Fault != ""; failed != (s.Model.Namespace == "slow") {
			t.Errorf("%s: fault %q, want one of the namespace with the slow job alone", s.Model, s.Fault)
		}
	}
	for _, v := range fleet.Variants {
		if got := c.Collect(t.Context(), scaling.Fleet{At: t0, Variants: []scaling.Variant{v}}); v.Model.Namespace == "good" && got[0].Fault != "" {
			t.Errorf("%s: what was complete is not kept: %s", v.Model, got[0].Fault)
		}
	}
}

// TestAWindowStaysWhileThePodsAreYoung: where all pods of a namespace are new, nothing
// tells how often they are scraped.
func TestAWindowStaysWhileThePodsAreYoung(t *testing.T) {
	source, fleet := shared(map[string]int{"a": 15, "b": 15})
	c := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{})
	c.Collect(t.Context(), fleet)
	source.Replace(query.AskScrapeIntervals)
	if got := windowsOf(c.Collect(t.Context(), fleet)); got["a"] != time.Minute || got["b"] != time.Minute {
		t.Errorf("windows are %v, want those of before, 1m", got)
	}
	other, later := shared(map[string]int{"a": 0, "new": 0})
	c = collector.New(other, testingclock.NewFakePassiveClock(t0), collector.Options{})
	if got := windowsOf(c.Collect(t.Context(), later)); got["a"] != 5*time.Minute || got["new"] != 5*time.Minute {
		t.Errorf("windows are %v, want 5m while no interval was ever known", got)
	}
}

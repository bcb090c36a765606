package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestMetricsAgeIsThatOfTheReplicaScrapedLongestAgo(t *testing.T) {
	model := scaling.ModelKey{Namespace: "prod", ID: "org/m"}
	ago := func(seconds int) scaling.ReplicaSample {
		return scaling.ReplicaSample{At: start.Add(-time.Duration(seconds) * time.Second)}
	}
	tests := []struct {
		name     string
		replicas []scaling.ReplicaSample
		want     string
	}{
		{"the oldest counts", []scaling.ReplicaSample{ago(10), ago(40), ago(20)}, "wva_metrics_age_seconds{model_name=\"org/m\",namespace=\"prod\"} 40\n"},
		{
			"a replica that was never scraped has no age",
			[]scaling.ReplicaSample{{}, ago(10)},
			"wva_metrics_age_seconds{model_name=\"org/m\",namespace=\"prod\"} 10\n",
		},
		{"a source whose clock is ahead", []scaling.ReplicaSample{ago(-5)}, "wva_metrics_age_seconds{model_name=\"org/m\",namespace=\"prod\"} 0\n"},
		{"nothing was scraped", []scaling.ReplicaSample{{}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			m := New(reg, stopped(start), Options{})
			r := newRecord(start, nil)
			r.Snapshots = []scaling.Snapshot{{Model: model, Replicas: tt.replicas}}
			publish(t, m, r)
			if diff := cmp.Diff(tt.want, exported(t, reg, MetricsAge)); diff != "" {
				t.Errorf("age (-want +got):\n%s", diff)
			}
			m.Clear()
			if got := exported(t, reg, MetricsAge); got != "" {
				t.Errorf("one that does not lead exports %s", got)
			}
		})
	}
}

func TestModelsThatCannotBeToldApartAreNamed(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	long := strings.Repeat("x", 128)
	r := newRecord(start, nil)
	for _, end := range []string{"1", "2"} {
		r.Snapshots = append(r.Snapshots, scaling.Snapshot{
			Model: scaling.ModelKey{Namespace: "prod", ID: long + end}, Replicas: []scaling.ReplicaSample{{At: start}},
		})
	}
	if err := m.Publish(r, nil); err == nil || !strings.Contains(err.Error(), "model prod/"+long+"2") {
		t.Errorf("Publish: error %v does not name the second model", err)
	}
	if _, err := reg.Gather(); err != nil {
		t.Errorf("the scrape fails: %v", err)
	}
}

func TestLookUpsInTheCacheAddUpFromZero(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	for _, want := range []string{
		"wva_collector_cache_hits_total 0\nwva_collector_cache_misses_total 0\n",
		"wva_collector_cache_hits_total 3\nwva_collector_cache_misses_total 4\n",
		"wva_collector_cache_hits_total 6\nwva_collector_cache_misses_total 8\n",
	} {
		if diff := cmp.Diff(want, exported(t, reg, CollectorCacheHits, CollectorCacheMisses)); diff != "" {
			t.Errorf("counters (-want +got):\n%s", diff)
		}
		m.ObserveCache(3, 4)
	}
}

func TestBackgroundFetchesCountFromZero(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	m.CountBackgroundFetch(Failure)
	want := "wva_collector_background_fetches_total{outcome=\"failure\"} 1\nwva_collector_background_fetches_total{outcome=\"success\"} 0\n"
	if diff := cmp.Diff(want, exported(t, reg, BackgroundFetches)); diff != "" {
		t.Errorf("counter (-want +got):\n%s", diff)
	}
}

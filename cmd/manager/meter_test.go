package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// TestWhatRunsForASourceEndsWithIt replaces the source of a meter, and its cache,
// while it runs.
func TestWhatRunsForASourceEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		build := func(_ surroundings, o *config.Operator) (backend, error) {
			url := o.Prometheus.BaseURL
			return backend{source: collectortest.New(clock.RealClock{}.Now()), run: func(ctx context.Context) error {
				log = append(log, "begins "+url)
				<-ctx.Done()
				log = append(log, "ends "+url)
				return nil
			}}, nil
		}
		l := newLab(t, start{from: build, settings: []string{"PROMETHEUS_BASE_URL", "https://a"}}, "--prometheus-base-url=")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.meter.run(ctx) }()
		for _, settings := range [][]string{
			{"PROMETHEUS_BASE_URL", "https://a", "GLOBAL_OPT_INTERVAL", "30s"}, // of no concern
			{"PROMETHEUS_BASE_URL", "https://b"},
		} {
			synctest.Wait()
			l.configure(config.KindSettings, settings...)
		}
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"begins https://a", "ends https://a", "begins https://b", "ends https://b"}, log); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestASourceThatFailsEndsTheMeter(t *testing.T) {
	broken := errors.New("broken")
	build := func(surroundings, *config.Operator) (backend, error) {
		return backend{source: collectortest.New(clock.RealClock{}.Now()), run: func(context.Context) error { return broken }}, nil
	}
	if err := newLab(t, start{from: build}).meter.run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestMeasurementsSurviveWhatDoesNotConcernThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, start{})
		l.meter.Collect(t.Context(), l.fleet)
		for _, tt := range []struct {
			key, value string
			kept       int
		}{
			{"LOG_LEVEL", "debug", 3},
			{"GLOBAL_OPT_INTERVAL", "30s", 3},
			{"PROMETHEUS_METRICS_CACHE_TTL", "40s", 3},
			{"PROMETHEUS_METRICS_CACHE_MAX_ENTRIES", "50", 0},
		} {
			l.configure(config.KindSettings, tt.key, tt.value)
			if got := len(l.meter.parts().store.Entries()); got != tt.kept {
				t.Errorf("%s: %d measurements are kept, want %d", tt.key, got, tt.kept)
			}
		}
	})
}

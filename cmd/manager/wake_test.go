package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// TestAReadingThatCrossesAThresholdWakesACycle lets the KV caches of one model
// fill up after 100 s, between two cycles that are an hour apart, and empty
// again after 160 s. Background fetching looks every 15 s, so the first look that
// sees it is at 105 s, the one that sees the end at 165 s.
func TestAReadingThatCrossesAThresholdWakesACycle(t *testing.T) {
	tests := map[executor.Mode][]time.Duration{
		executor.Polling: {0},
		// One for each change of the signal: what has been seen wakes no model.
		executor.Hybrid: {0, 105, 165},
		// Nothing else would bring the next one, so each look does while a model
		// wants to grow.
		executor.Reactive: {0, 105, 120, 135, 150, 165},
	}
	for mode, want := range tests {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(want, cyclesOf(t, mode)); diff != "" {
					t.Errorf("seconds at which cycles began (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// cyclesOf returns when cycles begin within 4 minutes, in seconds.
func cyclesOf(t *testing.T, mode executor.Mode) []time.Duration {
	t.Helper()
	b := newBench(t, "--global-opt-interval=1h")
	book := ledger.New()
	measure := newCollector(b.measuring)
	analyze := watch.By(func(scaling.ModelKey) settings.Model { return settings.Default() })
	exec := executor.New(clock.RealClock{}, mode, func() time.Duration { return b.operator.Interval })
	pass := &cycle.Cycle{Clock: clock.RealClock{}, Cluster: b, Collector: measure, Recorder: book, Actuator: b}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	b.operator.Executor = mode.String()
	running := b.source.Rows(query.AskRunning) // an idle model would be news of its own
	for i := range running {
		running[i].Value = 1
	}
	b.source.Replace(query.AskRunning, running...)
	go func() {
		_ = newFetching(func() *config.Operator { return b.operator }, exec, &watch.Watch{
			Clock: clock.RealClock{}, Cluster: b, Collector: measure, Analyze: analyze, Memory: book,
		}).run(logr.Discard()).Start(ctx)
	}()
	kv := func(usage float64) {
		var rows []query.Row
		for _, pod := range []string{"m000-0", "m000-1"} {
			rows = append(rows, collectortest.PodRow(query.KVCacheUsagePeak, collectortest.Namespace, pod, "m000", usage))
		}
		b.source.Replace(query.AskKVCacheUsagePeak, append(rows, othersOf(b, query.AskKVCacheUsagePeak)...)...)
		for i := range rows {
			rows[i].Quantity = query.KVCacheUsage
		}
		b.source.Replace(query.AskKVCacheUsage, append(rows, othersOf(b, query.AskKVCacheUsage)...)...)
	}
	go func() {
		time.Sleep(100 * time.Second)
		kv(0.95)
		time.Sleep(60 * time.Second)
		kv(0.5)
	}()
	began := clock.RealClock{}.Now()
	var starts []time.Duration
	if err := exec.Run(ctx, func(ctx context.Context, interval time.Duration, _ []string) {
		starts = append(starts, clock.RealClock{}.Since(began)/time.Second)
		if err := pass.Run(ctx, interval); err != nil {
			t.Errorf("cycle: %v", err)
		}
	}); err != nil {
		t.Errorf("executor: %v", err)
	}
	return starts
}

// othersOf returns what the pods of the other models answer.
func othersOf(b *bench, ask query.Question) []query.Row {
	var rows []query.Row
	for _, row := range b.source.Rows(ask) {
		if row.Model != "m000" {
			rows = append(rows, row)
		}
	}
	return rows
}

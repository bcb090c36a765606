package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
)

// fetching fetches measurements between cycles and watches them, as the configuration in force
// says.
type fetching struct {
	now    func() *config.Operator
	cycles *executor.Executor // woken by the watch
	watch  *watch.Watch
	passes *executor.Executor
}

// idle is the time between two passes that do nothing. A change of the configuration starts the
// next pass.
const idle = time.Hour

// newFetching returns a fetching that uses w. It sets the fields of w that the configuration
// determines before each pass.
func newFetching(now func() *config.Operator, cycles *executor.Executor, w *watch.Watch) *fetching {
	f := &fetching{now: now, cycles: cycles, watch: w}
	f.passes = executor.New(clock.RealClock{}, executor.Polling, func() time.Duration {
		if o := now(); o.Collector.Cache.Background() {
			return o.FetchInterval()
		}
		return idle
	})
	return f
}

// run makes passes until ctx ends.
func (f *fetching) run(log logr.Logger) leading {
	return func(ctx context.Context) error {
		return f.passes.Run(logr.NewContext(ctx, log), func(ctx context.Context, _ time.Duration, _ []string) { f.pass(ctx) })
	}
}

// pass fetches and watches once, if background fetching is on.
func (f *fetching) pass(ctx context.Context) {
	o := f.now()
	if !o.Collector.Cache.Background() {
		return
	}
	f.watch.Wake = wakes(o.Executor, f.cycles)
	f.watch.Alone = o.Executor == config.ExecutorReactive
	f.watch.Pass(ctx)
}

// wakes returns the function by which a watch wakes cycles, nil where it must not.
func wakes(mode string, exec *executor.Executor) func(reason string) {
	if mode == config.ExecutorPolling {
		return nil
	}
	return exec.Trigger
}

package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// loop runs the cycles of the leader.
type loop struct {
	log         logr.Logger
	executor    *executor.Executor
	cycle       *cycle.Cycle
	instruments *metrics.Metrics
	actuator    *actuator.Actuator
	reader      client.Reader
	memory      *ledger.Ledger
	// configured waits until the configuration is that of all ConfigMaps.
	configured func(ctx context.Context) error
	// learned is what outlives the process, nil where nothing does.
	learned *learned
}

var _ manager.LeaderElectionRunnable = (*loop)(nil)

// NeedLeaderElection reports that only the leader decides.
func (l *loop) NeedLeaderElection() bool { return true }

// Start takes over what was decided before, publishes it again, then runs cycles
// until ctx ends. The manager has synced the caches by then.
func (l *loop) Start(ctx context.Context) error {
	if err := l.configured(ctx); err != nil {
		return err
	}
	if err := controller.Restore(ctx, l.reader, l.memory); err != nil {
		return err
	}
	l.learned.restore(ctx)
	before, err := actuator.NewStatusValues(l.reader).Record(ctx, clock.RealClock{}.Now())
	if err != nil {
		return err
	}
	defer l.actuator.Clear()
	if err := l.actuator.Restore(before); err != nil {
		l.instruments.CountError("actuator")
		l.log.Error(err, "part of what was decided before is not published")
	}
	return l.executor.Run(logr.NewContext(ctx, l.log), l.once)
}

// once runs a cycle. What fails is counted and logged; the next cycle is the
// retry.
func (l *loop) once(ctx context.Context, interval time.Duration, reasons []string) {
	start := clock.RealClock{}.Now()
	err := l.cycle.Run(ctx, interval)
	if ctx.Err() != nil {
		return
	}
	l.learned.keep()
	l.instruments.ObserveCycle(metrics.OutcomeOf(err), clock.RealClock{}.Since(start))
	if len(reasons) > 0 {
		l.log.V(1).Info("cycle was asked for", "reason", reasons)
	}
	if err != nil {
		l.instruments.CountError("cycle")
		l.log.Error(err, "cycle failed")
	}
}

// leading is something that runs while this manager leads.
type leading func(ctx context.Context) error

var _ manager.LeaderElectionRunnable = leading(nil)

// NeedLeaderElection reports that only the leader does it.
func (leading) NeedLeaderElection() bool { return true }

// Start runs until ctx ends.
func (l leading) Start(ctx context.Context) error { return l(ctx) }

// everywhere is a runnable that managers run whether they lead or not.
type everywhere struct {
	server interface {
		Run(ctx context.Context) error
	}
}

// NeedLeaderElection reports that every manager serves.
func (everywhere) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (e everywhere) Start(ctx context.Context) error { return e.server.Run(ctx) }

package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// deciding makes decisions and carries them out, while this manager leads.
type deciding struct {
	scaler  *subresource.TargetScaler
	exports *external.Store // served by the External Metrics API
	runs    []manager.Runnable
}

// newDeciding returns the part that decides on the measurements, once the configuration is known.
func newDeciding(c common, measure measurement, configuration *controller.Configuration) (deciding, error) {
	scaler := subresource.New(subresource.Options{
		Objects: c.mgr.GetClient(), Scalers: c.fleet, Scales: c.scales, Pods: c.mgr.GetClient(), Count: c.instruments.CountScaleUpdate,
	})
	exports := &external.Store{}
	act := actuator.New(actuator.Options{Metrics: c.instruments, Store: exports, Memory: c.memory, Scaler: scaler})
	stock, err := newStock(c.kube, stockOptions{
		inventory: c.operator.Inventory, interval: func() time.Duration { return measure.now().Interval },
		learnt: func() { measure.cycles.Trigger("the stock of accelerators became known") },
	})
	if err != nil {
		return deciding{}, err
	}
	archiving, err := newArchive(c)
	if err != nil {
		return deciding{}, err
	}
	kept := newLearned(c)
	decide := &loop{
		log: c.log, executor: measure.cycles, instruments: c.instruments, actuator: act, reader: c.served, memory: c.memory,
		configured: configuration.Synced, decisions: c.decisions, fleet: c.fleet, learned: kept,
		cycle: &cycle.Cycle{
			Process: cycle.NewProcess(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
			Clock:   clock.RealClock{}, Cluster: c.fleet, Collector: measure.meter, Recorder: c.memory, Actuator: act,
			Policy: c.policies.decides, Stock: stock, Quotas: c.policies.quotas, Schedule: c.policies.schedule, Archive: c.last,
		},
	}
	return deciding{
		scaler: scaler, exports: exports, runs: slices.Concat([]manager.Runnable{
			decide, leading(stock.Run), leading(c.decisions.Run),
			controller.NewTriggers(c.mgr.GetCache(), discovery.Served{Reader: c.served.Reader, Annotated: c.served.Annotated, Everywhere: true},
				measure.cycles.Trigger, measure.meter.forget, configuration.LookAgain),
		}, archiving, kept.runs()),
	}, nil
}

// loop runs the cycles of the leader.
type loop struct {
	log         logr.Logger
	executor    *executor.Executor
	cycle       *cycle.Cycle
	instruments *metrics.Metrics
	actuator    *actuator.Actuator
	reader      client.Reader
	memory      *ledger.Ledger
	// configured waits until the configuration includes all ConfigMaps.
	configured func(ctx context.Context) error
	decisions  *store.Decisions // of variants without a VariantAutoscaling
	fleet      *discovery.Cluster
	// learned outlives the process, nil where nothing does.
	learned *learned
}

var _ manager.LeaderElectionRunnable = (*loop)(nil)

// NeedLeaderElection reports that only the leader decides.
func (l *loop) NeedLeaderElection() bool { return true }

// Start restores the last decisions, then runs cycles until ctx ends. The manager has synced the
// caches by then.
func (l *loop) Start(ctx context.Context) error {
	// 1. Wait for the configuration, which the first cycle needs.
	if err := l.configured(ctx); err != nil {
		return err
	}
	// 2. Restore what the last process decided, then what it learned.
	l.decisions.Lead(ctx)
	if err := controller.Restore(ctx, l.reader, l.memory); err != nil {
		return err
	}
	l.learned.restore(ctx)
	// 3. Publish the last decisions again: the HPA reads them until the first cycle ends.
	defer l.actuator.Clear()
	if err := l.publishLast(ctx); err != nil {
		return err
	}
	// 4. Decide.
	return l.executor.Run(logr.NewContext(ctx, l.log), l.once)
}

// publishLast publishes the decisions in the status of objects.
func (l *loop) publishLast(ctx context.Context) error {
	last, err := actuator.NewStatusValues(l.reader, l.fleet.Followed).Record(ctx, clock.RealClock{}.Now())
	if err != nil {
		return err
	}
	if err := l.actuator.Restore(last); err != nil {
		l.instruments.CountError("actuator")
		l.log.Error(err, "part of what was decided before is not published")
	}
	return nil
}

// once runs a cycle. It counts and logs an error; the next cycle is the retry.
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

// leading is a function that runs while this manager leads.
type leading func(ctx context.Context) error

var _ manager.LeaderElectionRunnable = leading(nil)

// NeedLeaderElection reports that only the leader runs it.
func (leading) NeedLeaderElection() bool { return true }

// Start runs until ctx ends.
func (l leading) Start(ctx context.Context) error { return l(ctx) }

// everywhere is a runnable that every manager runs, the leader or not.
type everywhere struct {
	server interface {
		Run(ctx context.Context) error
	}
}

// NeedLeaderElection reports that every manager serves.
func (everywhere) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (e everywhere) Start(ctx context.Context) error { return e.server.Run(ctx) }

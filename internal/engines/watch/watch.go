package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Collector measures a fleet and keeps the measurements for a while.
type Collector interface {
	// Refresh measures again, once, what would expire before the next pass. An error says what
	// could not be measured; older measurements stay.
	Refresh(ctx context.Context, fleet scaling.Fleet) error
	// Look refreshes, and returns what a cycle would see: one Snapshot for each model of
	// the fleet, sorted by model, from the kept and the new measurements. It does not
	// repeat a measurement that failed.
	Look(ctx context.Context, fleet scaling.Fleet) ([]scaling.Snapshot, error)
}

// Memory knows the last cycle; *ledger.Ledger does.
type Memory interface {
	// Latest returns the record of the last cycle, and false before the first.
	Latest() (memory.Record, bool)
}

// Watch looks at the fleet between two cycles. The fields up to Analyze are
// required. It is not safe for concurrent use: one loop owns it.
type Watch struct {
	Clock     clock.PassiveClock
	Cluster   cycle.Cluster
	Collector Collector
	Memory    Memory
	Analyze   Analyze
	// Wake asks for a cycle, for a reason. It must not block. Where it is nil, a pass only
	// refreshes the measurements.
	Wake func(reason string)
	// Alone says that only Wake and changes of objects start a cycle, so that no other part
	// notices changes that only time makes.
	Alone bool
	// Observe receives the result of each pass, nil for success. It may be nil.
	Observe func(err error)

	failing bool // the last pass failed
}

// Pass refreshes the measurements once and wakes a cycle if something has changed. It returns when
// ctx ends at the latest.
func (w *Watch) Pass(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	start := w.Clock.Now()
	fleet, err := w.Cluster.Fleet(ctx, start)
	if err != nil {
		w.report(ctx, log, fmt.Errorf("observing the fleet: %w", err))
		return
	}
	var snapshots []scaling.Snapshot
	if w.Wake == nil {
		err = w.Collector.Refresh(ctx, fleet)
	} else {
		snapshots, err = w.Collector.Look(ctx, fleet)
	}
	w.report(ctx, log, err)
	if err == nil {
		// Users of the published versions look for this text.
		log.V(1).Info(fmt.Sprintf("Background fetch completed for %d VAs in %s", len(fleet.Variants), w.Clock.Since(start).Round(time.Millisecond)))
	}
	// After a failure too: a cycle should see a failing source as soon as the kept
	// measurements have expired.
	if w.Wake != nil && ctx.Err() == nil {
		w.wake(fleet, snapshots)
	}
}

// wake wakes a cycle if the snapshots of the fleet show a change.
func (w *Watch) wake(fleet scaling.Fleet, snapshots []scaling.Snapshot) {
	record, ok := w.Memory.Latest()
	if !ok {
		return // the first cycle is under way
	}
	look := Look{Last: record, Fleet: fleet, Snapshots: snapshots, Alone: w.Alone}
	if reason := look.Reason(w.Analyze); reason != "" {
		w.Wake(reason)
	}
}

// report passes the result of a pass to Observe. It logs the first failure, and the first success
// after it.
func (w *Watch) report(ctx context.Context, log logr.Logger, err error) {
	if ctx.Err() != nil {
		return // a pass that the end of ctx cut off has not failed
	}
	if w.Observe != nil {
		w.Observe(err)
	}
	switch failed := err != nil; {
	case failed && !w.failing:
		log.Error(err, "background fetch failed, cycles ask for themselves until it succeeds")
	case failed:
		log.V(1).Info("background fetch failed again", "err", err.Error())
	case w.failing:
		log.Info("background fetch succeeds again")
	}
	w.failing = err != nil
}

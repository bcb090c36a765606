package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Collector measures a fleet and keeps what it measured for a while.
type Collector interface {
	// Refresh measures anew what would expire before the next pass, once. The
	// error says why that did not succeed in full; what was kept stays.
	Refresh(ctx context.Context, fleet scaling.Fleet) error
	// Look refreshes, and returns what a cycle would see: one Snapshot for each
	// model of the fleet, sorted by model, from what is kept and what was just
	// measured. It measures no second time where that did not succeed.
	Look(ctx context.Context, fleet scaling.Fleet) ([]scaling.Snapshot, error)
}

// Memory knows the last cycle; *ledger.Ledger does.
type Memory interface {
	// Latest returns the record of the last cycle, and false while there is none.
	Latest() (scaling.Record, bool)
}

// Watch looks at the fleet between two cycles. The fields up to Analyze are
// required. It is not safe for concurrent use: one loop owns it.
type Watch struct {
	Clock     clock.PassiveClock
	Cluster   cycle.Cluster
	Collector Collector
	Memory    Memory
	Analyze   Analyze
	// Wake asks for a cycle because of a reason. It must not block. Nil means that
	// cycles cannot be woken; a pass then ends when the measurements are warm.
	Wake func(reason string)
	// Alone says that only Wake and changes of objects bring a cycle, so that
	// nothing else would notice what time alone changes.
	Alone bool
	// Observe is told how each pass ended, nil for well. Nil means nobody
	// listens.
	Observe func(err error)

	failing bool // the last pass failed
}

// Pass refreshes the measurements once and wakes a cycle if something has changed. It
// returns when ctx ends at the latest.
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
	// After a failure too: a cycle should see a source that fails as soon as
	// what was kept has expired.
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

// report tells how a pass ended, and logs where that differs from the last one.
func (w *Watch) report(ctx context.Context, log logr.Logger, err error) {
	if ctx.Err() != nil {
		return // what is cut off by the end has not failed
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

package cycle

import (
	"context"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Stock tells what accelerators there are.
type Stock interface {
	// Inventory returns what there is and what is in use. It reads caches and
	// answers at once; what cannot be read is an Inventory that is not Known, and
	// limited models do not grow by it.
	Inventory(ctx context.Context) scaling.Inventory
}

// Cluster tells what there is to scale.
type Cluster interface {
	// Fleet returns every variant that this instance is responsible for and the
	// live pods behind them, as of now. It reads caches and answers at once. A
	// variant whose target cannot be read is in it, with Missing set; an error
	// means that nothing at all is known.
	Fleet(ctx context.Context, now time.Time) (scaling.Fleet, error)
}

// Collector measures a fleet.
type Collector interface {
	// Collect returns one Snapshot for each model of the fleet, sorted by
	// model, always: where the source fails, the readings are Absent and Fault
	// says why. It returns when ctx ends at the latest.
	Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot
}

// Actuator makes a plan known to whoever carries it out.
type Actuator interface {
	// Apply publishes every decision of the record's plan. An error names the
	// variants that could not be published; the others are.
	Apply(ctx context.Context, record scaling.Record) error
}

// Recorder keeps what was decided, for status, explanation and the next cycle.
type Recorder interface {
	// History returns what is remembered of each variant, a copy.
	History() scaling.History
	// Record takes over the outcome of a cycle.
	Record(record scaling.Record)
}

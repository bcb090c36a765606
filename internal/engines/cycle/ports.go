package cycle

import (
	"context"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Stock reads the inventory.
type Stock interface {
	// Inventory returns the accelerators in total and in use. It reads caches and answers
	// at once. Where it cannot read them it returns an Inventory that is not Known, and
	// limited models do not grow.
	Inventory(ctx context.Context) scaling.Inventory
}

// Cluster lists the variants and their pods.
type Cluster interface {
	// Fleet returns every variant that this instance is responsible for, and their live pods, as of
	// now. It reads caches and answers at once. A variant whose target cannot be read is included,
	// with Missing set; an error means that the fleet is unknown.
	Fleet(ctx context.Context, now time.Time) (scaling.Fleet, error)
}

// Collector measures a fleet.
type Collector interface {
	// Collect returns one Snapshot for each model of the fleet, sorted by
	// model, always: where the source fails, the readings are Absent and Fault
	// says why. It returns when ctx ends at the latest.
	Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot
}

// Actuator publishes a plan to the scalers.
type Actuator interface {
	// Apply publishes every decision of the record's plan. An error names the variants that
	// could not be published; the other variants are published.
	Apply(ctx context.Context, record memory.Record) error
}

// Recorder keeps decisions for status, explanation and the next cycle.
type Recorder interface {
	// History returns the history of each variant, a copy.
	History() memory.History
	// Record stores the outcome of a cycle.
	Record(record memory.Record)
}

package actuator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Memory knows how old the decisions are.
type Memory interface {
	// AgesFrom returns the time from which the age of the decision for a variant
	// counts, zero when nothing was decided.
	AgesFrom(key scaling.VariantKey) time.Time
}

// Options are the parts of an Actuator. All are required but for Scaler.
type Options struct {
	Metrics *metrics.Metrics
	Store   *external.Store
	// Memory must know of a cycle before Apply is called with it.
	Memory Memory
	// Scaler sets replicas itself where an object asks for it. Nil sets no
	// replicas.
	Scaler *subresource.TargetScaler
}

// Actuator publishes plans, and has its Scaler set those replicas that no HPA or ScaledObject sets. Apply is for one
// goroutine at a time, the other methods for any.
type Actuator struct {
	metrics *metrics.Metrics
	store   *external.Store
	memory  Memory
	scaler  *subresource.TargetScaler

	mu sync.Mutex // keeps the two publications in step
}

var _ cycle.Actuator = (*Actuator)(nil)

// New returns an Actuator that has published nothing.
func New(o Options) *Actuator {
	return &Actuator{metrics: o.Metrics, store: o.Store, memory: o.Memory, scaler: o.Scaler}
}

// Apply publishes the decisions of the record, and then sets the replicas of the
// targets that are to be set by this process: whoever reads the decision must not
// find an older one and undo it. Pods that should go first are marked before.
//
// Its error names the variants that could not be published, the others are; what
// could not be set is told by the Scaler. Once ctx has ended nothing is done, because a
// process that stops may not lead any more.
func (a *Actuator) Apply(ctx context.Context, record scaling.Record) error {
	if a.scaler != nil && ctx.Err() == nil {
		a.scaler.Mark(ctx, record)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nothing was published: %w", err)
	}
	err := a.publish(record)
	if a.scaler != nil {
		a.scaler.Carry(ctx, record)
	}
	return err
}

func (a *Actuator) publish(record scaling.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	ages := a.agesFrom(record)
	a.store.Fill(values(record, ages))
	return a.metrics.Publish(record, ages)
}

// Restore publishes as metrics what an earlier process decided, until the first
// plan is applied: record is what StatusValues make of it. The External Metrics
// need nothing, they answer from the status by themselves until then. Its error
// is that of Apply.
func (a *Actuator) Restore(record scaling.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metrics.Restore(record, a.agesFrom(record))
}

// agesFrom returns the time from which the age of each decision counts, where
// it is known.
func (a *Actuator) agesFrom(record scaling.Record) map[scaling.VariantKey]time.Time {
	from := map[scaling.VariantKey]time.Time{}
	for _, d := range record.Plan.Decisions {
		if at := a.memory.AgesFrom(d.Variant); !at.IsZero() {
			from[d.Variant] = at
		}
	}
	return from
}

// Clear withdraws everything that was published, and forgets what could not be set,
// as a process must that no longer leads. It is called when no cycle runs any more.
func (a *Actuator) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store.Clear()
	a.metrics.Clear()
	if a.scaler != nil {
		a.scaler.Clear()
	}
}

// values returns what the External Metrics say of each variant decided on. A
// decision on a variant that is not in the fleet has no labels; publishing the
// metrics names it.
func values(record scaling.Record, ages map[scaling.VariantKey]time.Time) []external.Value {
	fleet := make(map[scaling.VariantKey]scaling.Variant, len(record.Fleet.Variants))
	for _, v := range record.Fleet.Variants {
		fleet[v.Key] = v
	}
	out := make([]external.Value, 0, len(record.Plan.Decisions))
	for _, d := range record.Plan.Decisions {
		v, ok := fleet[d.Variant]
		if !ok {
			continue
		}
		at, known := ages[d.Variant]
		if !known {
			at = record.Plan.At // nothing better is known
		}
		out = append(out, external.Value{
			Variant:     v.Key,
			Target:      v.Target,
			Accelerator: v.Accelerator,
			Desired:     d.Target(),
			Current:     v.Replicas.Current,
			Observed:    v.Replicas.Observed,
			At:          at,
			Cycle:       record.Cycle,
		})
	}
	return out
}

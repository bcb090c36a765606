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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Memory returns how old the decisions are.
type Memory interface {
	// AgesFrom returns the time from which the age of the decision for a variant counts,
	// zero when there is no decision.
	AgesFrom(key scaling.VariantKey) time.Time
}

// Options are the parts of an Actuator. All are required but for Scaler.
type Options struct {
	Metrics *metrics.Metrics
	Store   *external.Store
	// Memory must hold a cycle before Apply is called with it.
	Memory Memory
	// Scaler sets replicas through the scale subresource where an object asks for it. Nil
	// sets no replicas.
	Scaler *subresource.TargetScaler
}

// Actuator publishes plans. Its Scaler sets the replicas of targets that no HPA or
// ScaledObject sets. Apply is for one goroutine at a time, the other methods for any.
type Actuator struct {
	metrics *metrics.Metrics
	store   *external.Store
	memory  Memory
	scaler  *subresource.TargetScaler

	mu sync.Mutex // makes the two publications change together
}

var _ cycle.Actuator = (*Actuator)(nil)

// New returns an Actuator that has published nothing.
func New(o Options) *Actuator {
	return &Actuator{metrics: o.Metrics, store: o.Store, memory: o.Memory, scaler: o.Scaler}
}

// Apply publishes the decisions of the record, and then sets the replicas of the targets
// that this process scales. It publishes first, so that no other reader finds an older
// decision and undoes the new one. Before that it marks the pods that should end first.
//
// Its error names the variants that could not be published; the others are published. The
// Scaler reports replicas that could not be set. Once ctx has ended Apply does nothing,
// because a process that stops may no longer lead.
func (a *Actuator) Apply(ctx context.Context, record memory.Record) error {
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

func (a *Actuator) publish(record memory.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	ages := a.agesFrom(record)
	a.store.Fill(values(record, ages))
	return a.metrics.Publish(record, ages)
}

// Restore publishes as metrics the decisions of an earlier process, until the first plan is
// applied. StatusValues makes the record. The External Metrics need no restore: until then
// they answer from the status. Its error is that of Apply.
func (a *Actuator) Restore(record memory.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metrics.Restore(record, a.agesFrom(record))
}

// agesFrom returns the time from which the age of each decision counts, for decisions where
// it is known.
func (a *Actuator) agesFrom(record memory.Record) map[scaling.VariantKey]time.Time {
	from := map[scaling.VariantKey]time.Time{}
	for _, d := range record.Plan.Decisions {
		if at := a.memory.AgesFrom(d.Variant); !at.IsZero() {
			from[d.Variant] = at
		}
	}
	return from
}

// Clear withdraws everything that was published, and forgets which replicas could not be
// set. A process that no longer leads must call it, when no cycle runs any more.
func (a *Actuator) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store.Clear()
	a.metrics.Clear()
	if a.scaler != nil {
		a.scaler.Clear()
	}
}

// values returns the External Metrics of each variant with a decision that scalers may read. A
// decision on a variant that is not in the fleet has no labels; publishing the metrics reports it
// as an error.
func values(record memory.Record, ages map[scaling.VariantKey]time.Time) []external.Value {
	fleet := make(map[scaling.VariantKey]scaling.Variant, len(record.Fleet.Variants))
	for _, v := range record.Fleet.Variants {
		fleet[v.Key] = v
	}
	out := make([]external.Value, 0, len(record.Plan.Decisions))
	for _, d := range record.Plan.Decisions {
		v, ok := fleet[d.Variant]
		if !ok || v.Unpublished() {
			continue
		}
		at, known := ages[d.Variant]
		if !known {
			at = record.Plan.At // no better time is known
		}
		out = append(out, external.Value{
			Variant:     v.Key,
			Target:      v.Target,
			Accelerator: v.Accelerator,
			ReadAs:      v.ReadAs,
			ByValue:     v.ByValue,
			Desired:     d.Target(),
			Current:     v.Replicas.Current,
			Observed:    v.Replicas.Observed,
			At:          at,
			Cycle:       record.Cycle,
		})
	}
	return out
}

package actuator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Memory knows how old the decisions are.
type Memory interface {
	// AnalyzedAt returns when an analysis last stood behind the decision for a
	// variant, zero if never.
	AnalyzedAt(key scaling.VariantKey) time.Time
}

// Actuator publishes plans. Its methods may be called from several goroutines.
type Actuator struct {
	metrics *metrics.Metrics
	store   *external.Store
	memory  Memory

	mu sync.Mutex // keeps the two publications in step
}

var _ cycle.Actuator = (*Actuator)(nil)

// New returns an Actuator that publishes to metrics and store. The memory must
// know of a cycle before Apply is called with it.
func New(m *metrics.Metrics, store *external.Store, memory Memory) *Actuator {
	return &Actuator{metrics: m, store: store, memory: memory}
}

// Apply publishes the decisions of the record. Its error names the variants
// that could not be published, the others are; once ctx has ended nothing is,
// because a process that stops may not lead any more.
func (a *Actuator) Apply(ctx context.Context, record scaling.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nothing was published: %w", err)
	}
	analyzed := map[scaling.VariantKey]time.Time{}
	for _, d := range record.Plan.Decisions {
		if at := a.memory.AnalyzedAt(d.Variant); !at.IsZero() {
			analyzed[d.Variant] = at
		}
	}
	a.store.Fill(values(record, analyzed))
	return a.metrics.Publish(record, analyzed)
}

// Clear withdraws everything that was published, as a process must that no
// longer leads. It is called when no cycle runs any more.
func (a *Actuator) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store.Clear()
	a.metrics.Clear()
}

// values returns what the External Metrics say of each variant decided on. A
// decision on a variant that is not in the fleet has no labels; publishing the
// metrics names it.
func values(record scaling.Record, analyzed map[scaling.VariantKey]time.Time) []external.Value {
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
		at, known := analyzed[d.Variant]
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
		})
	}
	return out
}

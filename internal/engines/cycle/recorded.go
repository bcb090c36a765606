package cycle

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Archive keeps what was decided, and what from, for whoever wants to decide it
// again.
type Archive interface {
	// Keep takes over a decided case. It returns at once, whatever becomes of it.
	Keep(decided Decided)
}

// Decided is a case with its plan.
type Decided struct {
	Cycle    scaling.CycleID
	Interval time.Duration // planned until the next cycle, 0 where only a change brings one
	Case     Case
	Plan     scaling.Plan
}

// Recorded returns the cycle as a record holds it. thresholds are those by which
// each model was analyzed, which the Case does not hold.
func (d Decided) Recorded(thresholds map[scaling.ModelKey]saturation.Policy) record.Cycle {
	configuration := make(map[scaling.ModelKey]record.Policy, len(thresholds))
	for model, t := range thresholds {
		configuration[model] = record.Policy{Saturation: t, Pacing: d.Case.Policies[model]}
	}
	return record.Cycle{
		Format: record.Format, Cycle: d.Cycle, Build: record.Build(), Interval: d.Interval,
		Now: d.Case.Now, Configuration: configuration, Snapshots: d.Case.Snapshots, History: d.Case.History, Plan: &d.Plan,
	}
}

// FromRecord returns the case that a record holds. Its analyzer goes by the
// record's Thresholds.
func FromRecord(r record.Cycle) Case {
	policies := make(map[scaling.ModelKey]constrain.Policy, len(r.Configuration))
	for model, p := range r.Configuration {
		policies[model] = p.Pacing
	}
	return Case{Now: r.Now, Snapshots: r.Snapshots, Policies: policies, History: r.History}
}

package cycle

import (
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Archive keeps cases and decisions, so that they can be replayed.
type Archive interface {
	// Keep stores a decided case. It returns at once, whether storing succeeds or not.
	Keep(decided Decided)
}

// Decided is a case with its setup and its plan.
type Decided struct {
	Setup Setup
	Case  Case
	Plan  scaling.Plan
}

// Recorded returns the cycle in the format of a record.
func (d Decided) Recorded() record.Cycle {
	configuration := make(map[scaling.ModelKey]settings.Model, len(d.Setup.Models)) // not nil, which is written differently
	maps.Copy(configuration, d.Setup.Models)
	return record.Cycle{
		Format: record.Format, Cycle: d.Case.Cycle, Build: record.Build(), Interval: d.Setup.Interval,
		Now: d.Case.Now, Configuration: configuration, Inventory: d.Setup.Inventory, Quotas: d.Setup.Quotas,
		Snapshots: d.Case.Snapshots, History: d.Case.History, Plan: &d.Plan,
	}
}

// FromRecord returns the case and the setup that a record holds.
func FromRecord(r record.Cycle) (Setup, Case) {
	setup := Setup{
		Models: make(map[scaling.ModelKey]settings.Model, len(r.Configuration)), Interval: r.Interval, Inventory: r.Inventory, Quotas: r.Quotas,
	}
	for key, s := range r.Configuration {
		s.Engine = settings.EngineOf(s.Engine)
		setup.Models[key] = s
	}
	return setup, Case{Cycle: r.Cycle, Now: r.Now, Snapshots: r.Snapshots, History: r.History}
}

package cycle

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
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

// Recorded returns the cycle in the format of a record. Models without settings of their own get
// the defaults in it.
func (d Decided) Recorded() record.Cycle {
	configuration := make(map[scaling.ModelKey]record.ModelSettings, len(d.Setup.Models))
	for key, pacing := range d.Case.Policies {
		configuration[key] = recordedPolicy(model.Default(), pacing)
	}
	for key, settings := range d.Setup.Models {
		configuration[key] = recordedPolicy(settings, d.Case.Policies[key])
	}
	return record.Cycle{
		Format: record.Format, Cycle: d.Case.Cycle, Build: record.Build(), Interval: d.Setup.Interval,
		Now: d.Case.Now, Configuration: configuration, Inventory: d.Setup.Inventory, Quotas: d.Setup.Quotas,
		Snapshots: d.Case.Snapshots, History: d.Case.History, Plan: &d.Plan,
	}
}

func recordedPolicy(s model.Settings, pacing constrain.Pacing) record.ModelSettings {
	return record.ModelSettings{
		Engine: string(s.Engine), Method: string(s.Method), Saturation: s.Spare, Tokens: s.Tokens,
		Objective: s.Objective, Sizing: s.Sizing, Limited: s.Limited, ShareProfiles: s.ShareProfiles, Pacing: pacing,
	}
}

// FromRecord returns the case and the setup that a record holds.
func FromRecord(r record.Cycle) (Setup, Case) {
	setup := Setup{
		Models: make(map[scaling.ModelKey]model.Settings, len(r.Configuration)), Interval: r.Interval, Inventory: r.Inventory, Quotas: r.Quotas,
	}
	pace := make(map[scaling.ModelKey]constrain.Pacing, len(r.Configuration))
	for key, p := range r.Configuration {
		pace[key] = p.Pacing
		setup.Models[key] = model.Settings{
			Engine: model.EngineOf(p.Engine), Method: model.Method(p.Method), Spare: p.Saturation, Tokens: p.Tokens,
			Objective: p.Objective, Sizing: p.Sizing, Limited: p.Limited, ShareProfiles: p.ShareProfiles,
		}
	}
	return setup, Case{Cycle: r.Cycle, Now: r.Now, Snapshots: r.Snapshots, Policies: pace, History: r.History}
}

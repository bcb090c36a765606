package sim

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	enginemodel "github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Engine is the autoscaler's own policy: the code that the manager runs between
// collecting and publishing. Make a new one for every run.
type Engine struct {
	options EngineOptions
	history scaling.History
}

// EngineOptions are what an Engine is made of.
type EngineOptions struct {
	Name     string        // in a Report
	Interval time.Duration // between two cycles; 0 means 15s
	// Policy returns how a model is decided. Nil decides all by the documented
	// settings, with no limit of pace.
	Policy func(scaling.ModelKey) cycle.Policy
	// Profile returns what the operator states of a replica of a variant. Nil
	// means what the Spec of the variant says.
	Profile func(scaling.VariantKey) scaling.Profile
}

var _ Policy = (*Engine)(nil)

// NewEngine returns the autoscaler.
func NewEngine(o EngineOptions) *Engine {
	if o.Interval == 0 {
		o.Interval = 15 * time.Second
	}
	return &Engine{options: o}
}

// Name implements Policy.
func (e *Engine) Name() string { return e.options.Name }

// Interval implements Policy.
func (e *Engine) Interval() time.Duration { return e.options.Interval }

// Decide implements Policy: one cycle.
func (e *Engine) Decide(v View) ([]Target, error) {
	setup := cycle.Setup{Interval: e.options.Interval}
	c := cycle.Case{Now: v.Now, Snapshots: e.profiled(v.Snapshots), History: e.history}
	if of := e.options.Policy; of != nil {
		setup.Models, c.Policies = map[scaling.ModelKey]enginemodel.Settings{}, map[scaling.ModelKey]constrain.Policy{}
		for _, s := range v.Snapshots {
			p := of(s.Model)
			setup.Models[s.Model], c.Policies[s.Model] = p.Settings, p.Pacing
		}
	}
	verdict := setup.Decide(c)
	e.history = verdict.History
	targets := make([]Target, len(verdict.Plan.Decisions))
	for i, d := range verdict.Plan.Decisions {
		cause := d.Cause()
		targets[i] = Target{Variant: d.Variant, Replicas: d.Target(), Reason: string(cause.Reason), Detail: cause.Detail}
	}
	return targets, nil
}

// profiled returns the snapshots with the stated profiles.
func (e *Engine) profiled(snapshots []scaling.Snapshot) []scaling.Snapshot {
	if e.options.Profile == nil {
		return snapshots
	}
	out := slices.Clone(snapshots)
	for i := range out {
		out[i].Variants = slices.Clone(out[i].Variants)
		for j := range out[i].Variants {
			v := &out[i].Variants[j]
			v.Profile = e.options.Profile(v.Key)
		}
	}
	return out
}

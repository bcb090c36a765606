package sim

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	enginesaturation "github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
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
	Name     string         // in a Report
	Analyze  cycle.Analyzer // required
	Interval time.Duration  // between two cycles; 0 means 15s
	// Settings is what every case begins with: its Now, Snapshots and History are
	// replaced.
	Settings cycle.Case
}

var _ Policy = (*Engine)(nil)

// NewEngine returns the autoscaler with the given analyzer.
func NewEngine(o EngineOptions) *Engine {
	if o.Interval == 0 {
		o.Interval = 15 * time.Second
	}
	return &Engine{options: o}
}

// Saturation returns the analyzer of the primary engine with one policy for all
// models.
func Saturation(p saturation.Policy) cycle.Analyzer {
	return enginesaturation.Analyzer(func(scaling.ModelKey) saturation.Policy { return p })
}

// Name implements Policy.
func (e *Engine) Name() string { return e.options.Name }

// Interval implements Policy.
func (e *Engine) Interval() time.Duration { return e.options.Interval }

// Decide implements Policy: one cycle.
func (e *Engine) Decide(v View) ([]Target, error) {
	c := e.options.Settings
	c.Now, c.Snapshots, c.History = v.Now, v.Snapshots, e.history
	verdict := cycle.Decide(c, e.options.Analyze)
	e.history = verdict.History
	targets := make([]Target, len(verdict.Plan.Decisions))
	for i, d := range verdict.Plan.Decisions {
		cause := d.Cause()
		targets[i] = Target{Variant: d.Variant, Replicas: d.Target(), Reason: string(cause.Reason), Detail: cause.Detail}
	}
	return targets, nil
}

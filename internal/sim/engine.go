package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Engine is the autoscaler's own policy: the code that the manager runs between
// collecting and publishing, at the times at which it runs it. Make a new one for
// every run.
type Engine struct {
	options EngineOptions
	analyze watch.Analyze
	last    memory.Record // the last cycle, as far as the next cycle and a look need it
	decided bool          // there was a cycle
	cycles  int
	// measured counts the requests of the whole run. None of them fades.
	measured map[scaling.ModelKey]memory.Budget
}

// EngineOptions are the options of NewEngine.
type EngineOptions struct {
	Name     string        // in a Report
	Interval time.Duration // between two cycles; 0 means 15s
	// Executor says what else starts a cycle. Fetch is the time between two looks of package watch,
	// 0 for none. Polling needs neither.
	Executor executor.Mode
	Fetch    time.Duration
	// Quotas are the accelerators that namespaces own. They apply to limited models.
	Quotas []scaling.Quota
	// Schedule holds the freeze windows, nil for none.
	Schedule schedule.Schedule
	// Policy returns the settings by which a model is decided. Nil means the documented defaults
	// for all, without a limit of pace.
	Policy func(scaling.ModelKey) settings.Model
	// Profile returns the profile that the operator states for a replica of a variant. Nil means
	// the one in the Spec of the variant.
	Profile func(scaling.VariantKey) scaling.Profile
}

var (
	_ Attentive = (*Engine)(nil)
	_ Measuring = (*Engine)(nil)
)

// wholeRun is a window so long that no count of a run fades.
const wholeRun = 1 << 62

// gap is the gap of package executor: the least time between a cycle and a later one that a change
// starts.
const gap = time.Second

// NewEngine returns the autoscaler.
func NewEngine(o EngineOptions) *Engine {
	if o.Interval == 0 {
		o.Interval = 15 * time.Second
	}
	e := &Engine{options: o, measured: map[scaling.ModelKey]memory.Budget{}}
	e.analyze = watch.By(e.policy)
	return e
}

// Name implements Policy.
func (e *Engine) Name() string { return e.options.Name }

// Interval implements Policy.
func (e *Engine) Interval() time.Duration { return e.options.Interval }

// Attention implements Attentive.
func (e *Engine) Attention() Attention {
	switch e.options.Executor {
	case executor.Reactive:
		return Attention{Looks: e.options.Fetch, Changes: true, Rest: gap, Alone: true}
	case executor.Hybrid:
		return Attention{Looks: e.options.Fetch, Changes: true, Rest: gap}
	case executor.Polling:
	}
	return Attention{}
}

// Look implements Attentive: a pass of package watch.
func (e *Engine) Look(v View) bool {
	if !e.decided {
		return false
	}
	look := watch.Look{Last: e.last, Snapshots: e.profiled(v.Snapshots), Alone: e.options.Executor == executor.Reactive}
	look.Fleet = fleet(v.Now, look.Snapshots)
	return look.Reason(e.analyze) != ""
}

// Decide implements Policy: one cycle.
func (e *Engine) Decide(v View) ([]Target, error) {
	setup := cycle.Setup{Interval: e.options.Interval, Quotas: e.options.Quotas, Models: map[scaling.ModelKey]settings.Model{}}
	if e.options.Executor == executor.Reactive {
		setup.Interval = 0
	}
	e.cycles++
	c := cycle.Case{Cycle: scaling.CycleID(fmt.Sprintf("sim-%d", e.cycles)), Now: v.Now, Snapshots: e.frozen(v.Now, e.profiled(v.Snapshots)), History: e.last.History}
	for _, s := range v.Snapshots {
		of := e.policy(s.Model)
		setup.Models[s.Model] = of
		e.measure(s, of.Objective)
		if of.Limited {
			setup.Inventory = v.Inventory
		}
	}
	verdict := setup.Decide(c)
	e.decided = true
	e.last = memory.Record{
		Interval: setup.Interval, Fleet: fleet(v.Now, c.Snapshots), Snapshots: c.Snapshots, Analyses: verdict.Analyses, Plan: verdict.Plan,
		History: verdict.History,
	}
	targets := make([]Target, len(verdict.Plan.Decisions))
	for i, d := range verdict.Plan.Decisions {
		cause := d.Cause()
		targets[i] = Target{Variant: d.Variant, Replicas: d.Target(), Reason: string(cause.Reason), Detail: cause.Detail}
	}
	return targets, nil
}

// measure adds what s says of the requests of its model.
func (e *Engine) measure(s scaling.Snapshot, o scaling.Objective) {
	o.AttainmentWindow = wholeRun
	e.measured[s.Model] = e.measured[s.Model].Then(s, o)
}

// Measured implements Measuring.
func (e *Engine) Measured(m scaling.ModelKey) (attainment float64, known bool) {
	return e.measured[m].Attainment()
}

// policy returns the settings by which a model is decided.
func (e *Engine) policy(m scaling.ModelKey) settings.Model {
	if e.options.Policy == nil {
		return settings.Default()
	}
	return e.options.Policy(m)
}

// fleet returns the fleet of the variants in snapshots.
func fleet(at time.Time, snapshots []scaling.Snapshot) scaling.Fleet {
	f := scaling.Fleet{At: at}
	for _, s := range snapshots {
		f.Variants = append(f.Variants, s.Variants...)
	}
	slices.SortFunc(f.Variants, func(a, b scaling.Variant) int { return a.Key.Compare(b.Key) })
	return f
}

// frozen returns the snapshots with the freeze windows that are active at now.
func (e *Engine) frozen(now time.Time, snapshots []scaling.Snapshot) []scaling.Snapshot {
	active := e.options.Schedule.At(now)
	if len(active) == 0 {
		return snapshots
	}
	out := slices.Clone(snapshots)
	for i := range out {
		out[i].Variants = active.Freeze(out[i].Variants)
	}
	return out
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

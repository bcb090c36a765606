package cycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Cycle is one pass over the cluster through its ports. The fields up to Actuator
// are required. It is not safe for concurrent use: one loop owns it.
type Cycle struct {
	// Process is the name of this process in the ids of its cycles; see NewProcess.
	Process   string
	Clock     clock.PassiveClock
	Cluster   Cluster
	Collector Collector
	Recorder  Recorder
	Actuator  Actuator
	// Policy returns the settings of a model. The cycle calls it once for each model. Nil decides
	// all models by the documented settings, without a limit of pace.
	Policy func(scaling.ModelKey) settings.Model
	// Stock reads the inventory. The cycle calls it only while a model is limited. Nil
	// means that the inventory is unknown.
	Stock Stock
	// Quotas returns the accelerators that namespaces own, given the variants. Nil limits
	// nothing.
	Quotas func([]scaling.Variant) []scaling.Quota
	// Schedule returns the freeze windows. Nil freezes nothing.
	Schedule func() schedule.Schedule
	// Archive receives every decided case. Nil keeps none.
	Archive Archive

	count  int64
	faults map[scaling.ModelKey]string // of the last cycle, "" for none
}

// Run makes one pass: observe, collect, decide, record, actuate. Run records the plan
// before it publishes it, so that its readers find the reasons. interval is the time to the
// next planned pass, for the record. An error names the cycle. An error of the cluster
// means that nothing was decided; an error of the actuator means that part of the plan was
// not published.
func (c *Cycle) Run(ctx context.Context, interval time.Duration) error {
	c.count++
	this := id(c.Process, c.count)
	log := logr.FromContextOrDiscard(ctx).WithValues("cycle", this)
	ctx = logr.NewContext(ctx, log)
	start := c.Clock.Now()
	// A decision uses the wall clock only: it survives a restart and is in the record.
	now := start.Round(0)
	fleet, err := c.Cluster.Fleet(ctx, now)
	if err != nil {
		return fmt.Errorf("observing the fleet in cycle %s: %w", this, err)
	}
	if c.Schedule != nil {
		fleet.Variants = c.Schedule().At(now).Freeze(fleet.Variants)
	}
	snapshots := c.Collector.Collect(ctx, fleet)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("collecting metrics in cycle %s: %w", this, err)
	}
	history := c.Recorder.History().Inherit(fleet)
	setup := c.setup(ctx, fleet, snapshots)
	setup.Interval = interval
	from := Case{Cycle: this, Now: now, Snapshots: snapshots, History: history}
	began := c.Clock.Now()
	verdict := setup.Decide(from)
	deciding := c.Clock.Since(began)
	record := memory.Record{
		Cycle: this, Interval: interval, Duration: c.Clock.Since(start), Fleet: fleet,
		Snapshots: snapshots, Analyses: verdict.Analyses, Plan: verdict.Plan, History: verdict.History,
		Inventory: setup.Inventory, Deciding: deciding, Gap: verdict.Gap,
		Objectives: setup.objectives(snapshots),
	}
	c.Recorder.Record(record)
	if c.Archive != nil {
		c.Archive.Keep(Decided{Setup: setup, Case: from, Plan: verdict.Plan})
	}
	report(log, history, record)
	c.reportFaults(log, snapshots)
	if err := c.Actuator.Apply(ctx, record); err != nil {
		return fmt.Errorf("publishing the plan of cycle %s: %w", this, err)
	}
	return nil
}

// setup returns the settings of each model, the quotas and, where a model is limited, the
// inventory.
func (c *Cycle) setup(ctx context.Context, fleet scaling.Fleet, snapshots []scaling.Snapshot) Setup {
	var setup Setup
	if c.Quotas != nil {
		setup.Quotas = c.Quotas(fleet.Variants)
	}
	if c.Policy == nil {
		return setup
	}
	setup.Models = make(map[scaling.ModelKey]settings.Model, len(snapshots))
	limited := false
	for _, s := range snapshots {
		of := c.Policy(s.Model)
		setup.Models[s.Model] = of
		limited = limited || of.Limited
	}
	if limited && c.Stock != nil {
		setup.Inventory = c.Stock.Inventory(ctx)
	}
	return setup
}

// objectives returns the objectives of the models of a cycle, sorted by model.
func (e Setup) objectives(snapshots []scaling.Snapshot) []scaling.ModelObjective {
	var out []scaling.ModelObjective
	for _, s := range snapshots {
		if m := e.Models[s.Model]; m.Objective.Set() {
			out = append(out, scaling.ModelObjective{
				Model: s.Model, Objective: m.Objective, TTFTPercentile: m.Sizing.TTFTPercentile, ITLPercentile: m.Sizing.ITLPercentile,
			})
		}
	}
	slices.SortFunc(out, func(a, b scaling.ModelObjective) int { return a.Model.Compare(b.Model) })
	return out
}

// report logs one line for each decision: changes at Info, the others at V(1).
func report(log logr.Logger, before memory.History, r memory.Record) {
	for _, d := range r.Plan.Decisions {
		cause := d.Cause()
		line := log.V(1)
		if past, ok := before[d.Variant]; !ok || past.Desired != d.Target() {
			line = log
		}
		line.Info("decided", "namespace", d.Variant.Namespace, "variant", d.Variant.Name, "model", d.Model.ID,
			"from", d.Current, "to", d.Target(), "stage", string(cause.Stage), "reason", string(cause.Reason), "detail", cause.Detail)
	}
	log.V(1).Info("cycle done", "duration", r.Duration.String(), "variants", len(r.Fleet.Variants))
}

// reportFaults logs when the metrics source of a model begins to fail, fails for another reason, or
// answers again; otherwise a silent log would look healthy. One line names all models with the same
// new fault.
func (c *Cycle) reportFaults(log logr.Logger, snapshots []scaling.Snapshot) {
	faults := make(map[scaling.ModelKey]string, len(snapshots))
	changed := map[string][]scaling.ModelKey{} // by present fault
	var order []string                         // of the faults, as found
	for _, s := range snapshots {
		faults[s.Model] = s.Fault
		if s.Fault == c.faults[s.Model] {
			continue
		}
		if changed[s.Fault] == nil {
			order = append(order, s.Fault)
		}
		changed[s.Fault] = append(changed[s.Fault], s.Model)
	}
	c.faults = faults
	for _, fault := range order {
		models := changed[fault]
		if fault == "" {
			log.Info("metrics are back", "models", len(models), "model", scaling.FirstOf(models, namedAtMost, scaling.ModelKey.String))
		} else {
			log.Error(nil, "metrics are out of reach, decisions hold", "models", len(models), "model", scaling.FirstOf(models, namedAtMost, scaling.ModelKey.String), "reason", fault)
		}
	}
}

// namedAtMost is how many models a line of the log names.
const namedAtMost = 3

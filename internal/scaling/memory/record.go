package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Record is everything that one cycle read and decided. It is never modified after it was handed
// on.
type Record struct {
	Cycle     scaling.CycleID    `json:"cycle"`
	Interval  time.Duration      `json:"interval"`  // planned time to the next cycle, 0 where only a change starts one
	Duration  time.Duration      `json:"duration"`  // of the cycle up to the plan, collection included
	Fleet     scaling.Fleet      `json:"fleet"`     // variants and pods
	Snapshots []scaling.Snapshot `json:"snapshots"` // sorted by model
	Analyses  []scaling.Analysis `json:"analyses"`  // by model, then role; the one that decided first
	Plan      scaling.Plan       `json:"plan"`
	// Inventory is the stock that limited models were bound by; unknown where no model is limited.
	Inventory scaling.Inventory `json:"inventory,omitzero"`
	// Deciding is the part of Duration after the collection.
	Deciding time.Duration `json:"deciding,omitempty"`
	// Gap is the largest possible distance of the shares of limited models from the least cost, a
	// ratio; unknown where no accelerators had to be shared.
	Gap scaling.Reading `json:"gap,omitzero"`
	// Objectives are the objectives that the cycle used, sorted by model; a model without one is
	// not listed.
	Objectives []scaling.ModelObjective `json:"objectives,omitempty"`

	History History `json:"-"` // after the plan; of the variants in the fleet
}

// Snapshot returns the snapshot of a model.
func (r Record) Snapshot(model scaling.ModelKey) (scaling.Snapshot, bool) {
	for _, s := range r.Snapshots {
		if s.Model == model {
			return s, true
		}
	}
	return scaling.Snapshot{}, false
}

// By returns the analysis of a part by the named analyzer, even if it did not decide.
func (r Record) By(part scaling.Part, analyzer string) (scaling.Analysis, bool) {
	for _, a := range r.Analyses {
		if a.Part() == part && a.Analyzer == analyzer {
			return a, true
		}
	}
	return scaling.Analysis{}, false
}

// Analysis returns the analysis that decided a part.
func (r Record) Analysis(part scaling.Part) (scaling.Analysis, bool) {
	for _, a := range r.Analyses {
		if a.Part() == part {
			return a, true
		}
	}
	return scaling.Analysis{}, false
}

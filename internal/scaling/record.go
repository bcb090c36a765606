package scaling

import "time"

// CycleID names a cycle, differently from every other cycle of any process:
// "k7hw2cxd-12" is the twelfth of its process. It is the same wherever a cycle
// shows: log lines, events, records, explanations. Compare it for equality only.
type CycleID string

// Record is everything that one cycle saw and decided. It is never modified
// after it was handed on.
type Record struct {
	Cycle     CycleID       `json:"cycle"`
	Interval  time.Duration `json:"interval"`  // planned until the next cycle, 0 where only a change brings one
	Duration  time.Duration `json:"duration"`  // of the cycle up to the plan, collection included
	Fleet     Fleet         `json:"fleet"`     // what there was
	Snapshots []Snapshot    `json:"snapshots"` // sorted by model
	Analyses  []Analysis    `json:"analyses"`  // sorted by model, then analyzer
	Plan      Plan          `json:"plan"`
	// Inventory is the stock that limited models were bound by; it is not Known where
	// none is limited.
	Inventory Inventory `json:"inventory,omitzero"`
	// Deciding is the part of Duration after everything was collected.
	Deciding time.Duration `json:"deciding,omitempty"`
	// Gap is how far the shares of limited models may be from the least cost, a ratio;
	// unknown where nothing had to be shared out.
	Gap Reading `json:"gap,omitzero"`
	// Objectives are those that models were decided with, sorted by model; a model
	// without one is not listed.
	Objectives []ModelObjective `json:"objectives,omitempty"`

	History History `json:"-"` // after the plan; of the variants in the fleet
}

// Snapshot returns the snapshot of a model.
func (r Record) Snapshot(model ModelKey) (Snapshot, bool) {
	for _, s := range r.Snapshots {
		if s.Model == model {
			return s, true
		}
	}
	return Snapshot{}, false
}

// By returns the analysis of a part by an analyzer, whether it decided or not.
func (r Record) By(part Part, analyzer string) (Analysis, bool) {
	for _, a := range r.Analyses {
		if a.Part() == part && a.Analyzer == analyzer {
			return a, true
		}
	}
	return Analysis{}, false
}

// Analysis returns the analysis of a part by which it was decided.
func (r Record) Analysis(part Part) (Analysis, bool) {
	for _, a := range r.Analyses {
		if a.Part() == part {
			return a, true
		}
	}
	return Analysis{}, false
}

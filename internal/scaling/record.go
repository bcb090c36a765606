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
	History   History       `json:"-"` // after the plan; of the variants in the fleet
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

// Analysis returns the analysis of a model by which it was decided.
func (r Record) Analysis(model ModelKey) (Analysis, bool) {
	for _, a := range r.Analyses {
		if a.Model == model {
			return a, true
		}
	}
	return Analysis{}, false
}

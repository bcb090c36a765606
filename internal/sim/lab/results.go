package lab

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Results are what came of a plan.
type Results struct {
	Seeds []uint64 `json:"seeds"`
	// Complete is false if the run was interrupted or something failed: some rows
	// are missing then, or have fewer seeds.
	Complete  bool              `json:"complete"`
	Scenarios []ScenarioResults `json:"scenarios"` // in the order of the plan
}

// ScenarioResults are what came of one scenario.
type ScenarioResults struct {
	Scenario string  `json:"scenario"`
	Workload string  `json:"workload"`
	Target   float64 `json:"target"`   // attainment that is asked for, a ratio
	Requests int     `json:"requests"` // that arrived in a complete run, with the first seed where that is complete
	// TooLong counts those that every replica refused for their length, whatever the
	// policy. They are misses of all.
	TooLong int     `json:"tooLong"`
	Span    float64 `json:"span"` // seconds over which cost was counted
	Rows    []Row   `json:"rows"` // of the policies that finished a run, in the order of the plan
	// Clairvoyant is nil where it was not asked for or did not finish.
	Clairvoyant *Clairvoyant `json:"clairvoyant,omitempty"`
}

// Row is what came of one policy in one scenario.
type Row struct {
	Policy   Choice           `json:"policy"`          // as it was run
	Own      bool             `json:"own"`             // this project's manager
	Tuning   []Trial          `json:"tuning"`          // what was tried before
	Runs     []Run            `json:"runs"`            // complete ones, by seed
	Measures Measures[Spread] `json:"measures"`        // over Runs
	Course   *Course          `json:"-"`               // of the first seed
	Error    string           `json:"error,omitempty"` // of the runs that did not finish
}

// Run is one complete run.
type Run struct {
	Seed     uint64            `json:"seed"`
	Measures Measures[float64] `json:"measures"`
	// Models are the measures of each model, sorted by its key.
	Models []ModelMeasures `json:"models"`
}

// ModelMeasures are the measures of one model.
type ModelMeasures struct {
	Model    scaling.ModelKey  `json:"model"`
	Measures Measures[float64] `json:"measures"`
}

// Model returns the measures of a model over the runs of r, which has one or
// more, and whether it has that model.
func (r Row) Model(key scaling.ModelKey) (Measures[Spread], bool) {
	var all []Measures[float64]
	for _, run := range r.Runs {
		for _, m := range run.Models {
			if m.Model == key {
				all = append(all, m.Measures)
			}
		}
	}
	if len(all) == 0 {
		return Measures[Spread]{}, false
	}
	return spread(all), true
}

// Trial is one point of a grid, on the busiest hour.
type Trial struct {
	Params     map[string]string `json:"params"` // empty for the defaults
	Attainment float64           `json:"attainment"`
	Cost       float64           `json:"cost"`
	Kept       bool              `json:"kept"`
}

// Course is how a run went.
type Course struct {
	Intervals []sim.Interval
	Decisions []Decision
}

// Decision is a target that differs from the one before it.
type Decision struct {
	At     time.Duration // offset from the start of the run
	From   int           // replicas that were wanted until then
	Target sim.Target
}

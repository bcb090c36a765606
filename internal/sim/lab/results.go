package lab

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Results are the results of a plan.
type Results struct {
	Seeds []uint64 `json:"seeds"`
	// Complete is false if the run was interrupted or something failed. Then some rows are missing,
	// or have fewer seeds.
	Complete  bool              `json:"complete"`
	Scenarios []ScenarioResults `json:"scenarios"` // in the order of the plan
}

// ScenarioResults are the results of one scenario.
type ScenarioResults struct {
	Scenario string  `json:"scenario"`
	Workload string  `json:"workload"`
	Target   float64 `json:"target"`   // wanted attainment, a ratio
	Requests int     `json:"requests"` // that arrived in a complete run, the first seed's if complete
	// TooLong counts the requests that every replica refused for their length. They are misses of
	// every policy.
	TooLong int `json:"tooLong"`
	// From is the begin of the judged part, in seconds; 0 judges all.
	From float64 `json:"from"`
	Span float64 `json:"span"` // seconds over which cost was counted
	Rows []Row   `json:"rows"` // of the policies that finished a run, in the order of the plan
	// Clairvoyant is nil if it was not asked for or did not finish.
	Clairvoyant *Clairvoyant `json:"clairvoyant,omitempty"`
}

// Row is the result of one policy in one scenario.
type Row struct {
	Policy Choice  `json:"policy"` // as it was run
	Own    bool    `json:"own"`    // this project's manager
	Tuning []Trial `json:"tuning"` // settings that were tried
	// Hindsight is nil for a policy that is not tuned.
	Hindsight *Hindsight       `json:"hindsight,omitempty"`
	Runs      []Run            `json:"runs"`            // complete ones, by seed
	Measures  Measures[Spread] `json:"measures"`        // over Runs
	Course    *Course          `json:"-"`               // of the first seed
	Error     string           `json:"error,omitempty"` // of the runs that did not finish
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

// Model returns the measures of a model over the runs of r, false if no run has the model.
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

// Trial is one setting of a baseline, run with the first seed.
type Trial struct {
	Params map[string]string `json:"params"` // empty for the defaults
	First  Point             `json:"first"`  // in the first part of the workload
	Rest   Point             `json:"rest"`   // in the part that is judged
	// Kept says whether the setting is the best of the first part, Hindsight of the rest.
	Kept      bool `json:"kept"`
	Hindsight bool `json:"hindsight"`
}

// Point is the result of a part of a run.
type Point struct {
	Attainment float64 `json:"attainment"`
	Cost       float64 `json:"cost"`
}

// Hindsight is a policy with the settings that were best in the judged part: its result if it had
// been tuned on what it is judged by.
type Hindsight struct {
	Policy   Choice           `json:"policy"`
	Runs     []Run            `json:"runs"`
	Measures Measures[Spread] `json:"measures"`
}

// Course has the intervals and the decisions of a run.
type Course struct {
	Intervals []sim.Interval
	Decisions []Decision
}

// Decision is a target whose replicas differ from those wanted before.
type Decision struct {
	At     time.Duration    // offset from the start of the run
	From   scaling.Replicas // replicas wanted until then
	Target sim.Target
}

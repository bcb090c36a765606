package record

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Format is the version of the format that this package writes, and the only one
// that it reads.
const Format = 1

// Cycle is one cycle: the case that was decided, and the plan. It is a value
// that is never modified.
type Cycle struct {
	// Format is the version of the format; left out, it is that of the reader.
	Format int `json:"format"`
	// Cycle names the cycle, "" for a case that a user wrote.
	Cycle scaling.CycleID `json:"cycle,omitempty"`
	// Build is the version of the program that decided.
	Build string `json:"build,omitempty"`
	// Interval is the time that was planned until the next cycle, 0 where only a
	// change brings one.
	Interval time.Duration `json:"interval,omitempty"`
	// Now is the instant of the decision. Required.
	Now time.Time `json:"now"`
	// Configuration is what was in force for each model. A model without an entry
	// has the default thresholds and no limit of pace.
	Configuration map[scaling.ModelKey]ModelSettings `json:"configuration"`
	// Inventory is the stock of accelerators, which bounds the models that are
	// limited. Left out, it is not known.
	Inventory scaling.Inventory `json:"inventory,omitzero"`
	// Quotas are the accelerators that namespaces own. A pair without an entry is
	// not limited.
	Quotas []scaling.Quota `json:"quotas,omitempty"`
	// Snapshots is what was known, one entry for each model.
	Snapshots []scaling.Snapshot `json:"snapshots"`
	// History is what was remembered of each variant before the decision.
	History scaling.History `json:"history"`
	// Plan is what was decided, nil in a case that is still to be decided.
	Plan *scaling.Plan `json:"plan,omitempty"`
}

// ModelSettings is the configuration of one model.
type ModelSettings struct {
	// Engine is what decides: saturation, queueing (published as model), hybrid or published.
	// Left out, it is saturation.
	Engine string `json:"engine,omitempty"`
	// Method is how saturation is measured: spare capacity, or tokens. Left out, it
	// is spare.
	Method string `json:"method,omitempty"`
	// Saturation holds the thresholds of the spare capacity analysis. Those that
	// are left out have their defaults.
	Saturation saturation.Thresholds `json:"saturation"`
	// Tokens holds the thresholds of the token capacity analysis. Those that are
	// left out have their defaults.
	Tokens saturation.TokenThresholds `json:"tokens"`
	// Objective is what requests of the model should meet.
	Objective scaling.Objective `json:"objective,omitzero"`
	// Sizing says what the objective holds for. What is left out has its default.
	Sizing queueing.Options `json:"sizing"`
	// Limited says that the model grows only onto accelerators that there are.
	Limited bool `json:"limited,omitempty"`
	// ShareProfiles says that what is learned of the model's replicas is a prior for models of the same ID in
	// other namespaces that say the same, and the reverse.
	ShareProfiles bool `json:"shareProfiles,omitempty"`
	// Pacing is how fast the decisions of the model may change.
	Pacing constrain.Pacing `json:"pacing"`
}

// Build returns the version of the running program, as the go command stamped
// it: that of the module or a pseudo-version of the commit, "(devel)" or
// "unknown" where it stamped none.
func Build() string { return build() }

var build = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
})

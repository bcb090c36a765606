package record

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Format is the only version of the format that this package writes and reads.
const Format = 1

// Cycle is one cycle: the inputs of its decisions, and the plan. It is a value that is never
// modified.
type Cycle struct {
	// Format is the version of the format; if left out, it is Format.
	Format int `json:"format"`
	// Cycle names the cycle, "" for inputs that a user wrote.
	Cycle scaling.CycleID `json:"cycle,omitempty"`
	// Build is the version of the program that decided.
	Build string `json:"build,omitempty"`
	// Interval is the planned time until the next cycle, 0 where only a change starts one.
	Interval time.Duration `json:"interval,omitempty"`
	// Now is the instant of the decision. Required.
	Now time.Time `json:"now"`
	// Configuration is what was in force for each model. A model without an entry has the default
	// thresholds and no limit of its pace.
	Configuration map[scaling.ModelKey]settings.Model `json:"configuration"`
	// Inventory is the stock of accelerators, which bounds the models in limited mode. If left out,
	// it is unknown.
	Inventory scaling.Inventory `json:"inventory,omitzero"`
	// Quotas are the accelerators that namespaces may use. A pair of namespace and accelerator
	// without an entry is not limited.
	Quotas []scaling.Quota `json:"quotas,omitempty"`
	// Snapshots are the readings, one entry for each model.
	Snapshots []scaling.Snapshot `json:"snapshots"`
	// History is the memory of each variant before the decision.
	History memory.History `json:"history"`
	// Plan holds the decisions, nil where they are still to be made.
	Plan *scaling.Plan `json:"plan,omitempty"`
}

// Build returns the version of the running program, as the go command stamped it: of the module, or
// a pseudo-version of the commit, or "(devel)"; "unknown" where it stamped none.
func Build() string { return build() }

var build = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
})

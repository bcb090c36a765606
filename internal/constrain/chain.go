package constrain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Input is what the stages read beside the plan.
type Input struct {
	Now      time.Time
	Cycle    scaling.CycleID // of this plan
	Variants map[scaling.VariantKey]scaling.Variant
	Policies map[scaling.ModelKey]Pacing // a model without one has the zero Pacing
	History  memory.History              // before the plan
	// Activity is the remembered activity of each model, updated with this cycle. It is unknown for
	// a model without an entry.
	Activity map[scaling.ModelKey]memory.Activity
	// Resumed is the size of variants whose load comes back after a lull, from memory.Busy. 0 or
	// no entry means that the load of the variant does not.
	Resumed map[scaling.VariantKey]scaling.Replicas
	Limits  Limits
	// Roles is the demand of the roles of models that are served in parts. It is unknown for a role
	// without an entry.
	Roles map[scaling.Part]RoleDemand
	// Surplus is the part of the Ready replicas of each part that no demand of the last hour needed,
	// in [0, 1); no entry is 0.
	Surplus map[scaling.Part]float64
}

// Stage returns a plan in which its constraint holds. It does not modify its argument.
type Stage func(Input, scaling.Plan) scaling.Plan

// Chain returns the stages in the order in which they apply.
func Chain() []Stage {
	return []Stage{
		Retention, // whether the model has replicas; the later stages change their number
		Resume,    // the size before a lull
		Bounds,    // the user's limits
		Stabilize, // how fast; it never leaves the user's limits
		Approve,   // no reduction that needs an approval and has none
		Freeze,    // no change that a freeze window forbids
		Capacity,  // the accelerators that exist: no replica runs without them
		Roles,     // prefill and decode together: no change that the other cannot follow
	}
}

// Apply runs the plan through the chain.
func Apply(in Input, plan scaling.Plan) scaling.Plan {
	for _, stage := range Chain() {
		plan = stage(in, plan)
	}
	return plan
}

package constrain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Input is what the stages know besides the plan.
type Input struct {
	Now      time.Time
	Variants map[scaling.VariantKey]scaling.Variant
	Policies map[scaling.ModelKey]Pacing // a model without one has the zero Policy
	History  scaling.History             // before the plan
	// Activity is what is remembered of each model, with what this cycle saw. A
	// model without an entry is one of which nothing is known.
	Activity map[scaling.ModelKey]scaling.Activity
	// Resumed is the size of variants whose load comes back after a lull: as
	// scaling.Busy has it. 0, or no entry, is none.
	Resumed map[scaling.VariantKey]int
	Limits  Limits
}

// Stage returns a plan in which its constraint holds. It does not modify the
// one that it is given.
type Stage func(Input, scaling.Plan) scaling.Plan

// Chain returns the stages in the order in which they apply.
func Chain() []Stage {
	return []Stage{
		Retention, // whether any at all: what follows shapes a number of replicas
		Resume,    // as many as before a lull
		Bounds,    // the user's limits
		Stabilize, // how fast; the limits are hard, so it never leaves them
		Capacity,  // what there is: the last word, since nobody can run on nothing
	}
}

// Apply runs the plan through the chain.
func Apply(in Input, plan scaling.Plan) scaling.Plan {
	for _, stage := range Chain() {
		plan = stage(in, plan)
	}
	return plan
}

package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// Input is what the stages know besides the plan.
type Input struct {
	Variants map[scaling.VariantKey]scaling.Variant
}

// Stage returns a plan in which its constraint holds. It does not modify the
// one that it is given.
type Stage func(Input, scaling.Plan) scaling.Plan

// Chain returns the stages in the order in which they apply.
func Chain() []Stage {
	return []Stage{
		Bounds, // the user's limits have the last word
	}
}

// Apply runs the plan through the chain.
func Apply(in Input, plan scaling.Plan) scaling.Plan {
	for _, stage := range Chain() {
		plan = stage(in, plan)
	}
	return plan
}

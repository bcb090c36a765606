package constrain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Bounds keeps every decision within its variant's minReplicas and maxReplicas. Where the two
// contradict each other, the maximum wins. A variant that is held (scaling.Variant.Undecidable) is
// not reduced to a maximum. If it is itself a scaler, it is not raised to a minimum either: the
// scaler does that.
func Bounds(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: make([]scaling.Decision, 0, len(plan.Decisions))}
	for _, d := range plan.Decisions {
		v, ok := in.Variants[d.Variant]
		if !ok || v.Undecidable != "" && (v.Origin != "" || v.Bounds.Clamp(d.Target()) < d.Target()) {
			out.Decisions = append(out.Decisions, d)
			continue
		}
		switch to := v.Bounds.Clamp(d.Target()); {
		case to > d.Target():
			d = d.Then(scaling.StageBounds, to, scaling.ReasonBelowMin, fmt.Sprintf("minReplicas is %d", v.Bounds.Min))
		case to < d.Target():
			d = d.Then(scaling.StageBounds, to, scaling.ReasonAboveMax, fmt.Sprintf("maxReplicas is %d", v.Bounds.Max))
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

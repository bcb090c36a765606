package constrain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Freeze applies the freeze window of each variant (scaling.Freeze): decisions stay at the last
// desired replicas where no change is allowed, and do not go below them where only growth is
// allowed. Changes by Bounds and starts from zero count, too. A variant that is held
// (scaling.Variant.Undecidable) keeps the larger of its last decision and its current replicas, as
// always.
func Freeze(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: make([]scaling.Decision, 0, len(plan.Decisions))}
	for _, d := range plan.Decisions {
		if v, ok := in.Variants[d.Variant]; ok && v.Freeze.Allow != "" && v.Undecidable == "" {
			d = freeze(v, d, in.History.LastDesired(v))
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

func freeze(v scaling.Variant, d scaling.Decision, last scaling.Replicas) scaling.Decision {
	switch {
	case v.Freeze.Allow == scaling.AllowNone && d.Target() != last:
		return d.Then(scaling.StageSchedule, last, scaling.ReasonFrozen, fmt.Sprintf("no change: %s", v.Freeze))
	case v.Freeze.Allow == scaling.AllowGrowth && d.Target() < last:
		return d.Then(scaling.StageSchedule, last, scaling.ReasonGrowthOnly, fmt.Sprintf("no reduction: %s", v.Freeze))
	}
	return d
}

// keeps returns the number of replicas below which Capacity must not reduce a decision; 0 for no
// limit.
func keeps(in Input, v scaling.Variant, d scaling.Decision) scaling.Replicas {
	least := scaling.Replicas(0)
	if v.Freeze.Allow != "" {
		least = in.History.LastDesired(v)
	}
	if v.Approval.Required {
		least = max(least, leastApproved(in, v, d))
	}
	return least
}

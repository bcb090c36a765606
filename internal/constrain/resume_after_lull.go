package constrain

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Resume restores the size of a model whose requests come back after a lull: the size that carried
// as many requests before it, from memory.Busy. Resume only adds replicas, and the later stages
// treat them as any growth. It does not change decisions that Retention made or that have no
// analysis, nor models that start from zero, which are sized by their backlog.
func Resume(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: slices.Clone(plan.Decisions)}
	for i, d := range out.Decisions {
		v, ok := in.Variants[d.Variant]
		size := in.Resumed[d.Variant]
		if !ok || !v.Replicas.Observed || v.Paused || d.Fallback || size <= d.Target() || ofRetention(d) {
			continue
		}
		busy := in.History[d.Variant].Busy
		d = d.Then(scaling.StageRetention, size, scaling.ReasonLoadReturned, fmt.Sprintf("requests come back after none arrived since %s: %s of this variant served %.3g requests/s of the model before",
			busy.Lull.UTC().Format("15:04:05"), busy.Replicas.Text(), busy.Rate))
		d.Withheld, d.Spare = false, 0
		out.Decisions[i] = d
	}
	return out
}

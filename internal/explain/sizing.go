package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// InfeasibleNamed is how many variants Infeasible describes: each variant of a model has the message,
// and a model may have thousands.
const InfeasibleNamed = 3

// Infeasible says that no variant of the model can meet its objectives: first the part that stays
// the same, then the best possible latencies, which move with the lengths of the requests. Both are
// "" where the objectives are not known to be infeasible.
func Infeasible(e Explanation) (stable, moving string) {
	if e.Sizing.Reason != scaling.ReasonObjectiveInfeasible {
		return "", ""
	}
	wanted := scaling.FirstOf(e.Sizing.Infeasible, InfeasibleNamed, func(i scaling.Infeasible) string {
		return fmt.Sprintf("%s %s of %g ms", i.Variant.Name, i.Target, i.Wanted)
	})
	best := scaling.FirstOf(e.Sizing.Infeasible, InfeasibleNamed, func(i scaling.Infeasible) string {
		return fmt.Sprintf("%s %.3g ms", i.Variant.Name, i.Best)
	})
	return "No variant meets the objectives of the model, not even without other load (" + wanted +
		"): no accelerator helps, and replicas are sized to the best that is possible. Want other objectives, or a faster variant", ". When it was first seen, the best were " + best
}

// Contradicted says that the profile of the variant predicts other latencies than are measured:
// first which ones, then both numbers, which move with the load. Both are "" where it does not.
func Contradicted(e Explanation) (stable, moving string) {
	var names, numbers []string
	for _, c := range e.Sizing.Contradictions {
		if c.Variant == e.Variant.Key {
			names = append(names, c.Quantity)
			numbers = append(numbers, fmt.Sprintf("%s %.3g ms predicted and %.3g ms measured", c.Quantity, c.Predicted, c.Measured))
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return fmt.Sprintf("The profile promises another %s than is measured, by more than half; sizes are corrected by what is measured", strings.Join(names, " and ")),
		". When it was first seen, " + strings.Join(numbers, ", ")
}

// binding says which objective bounds what a replica of the variant serves, "" where no queueing
// model made the decision. It holds no number that moves with the load.
func binding(e Explanation) string {
	if e.Decision.Fallback || e.Analysis.Analyzer == "" || e.Analysis.Analyzer != e.Sizing.Analyzer {
		return ""
	}
	for _, c := range e.Sizing.Variants {
		if c.Variant == e.Variant.Key && c.PerReplica > 0 {
			return c.Source
		}
	}
	return ""
}

// sizing says what a replica of the variant serves within the objectives and which of them binds
// it, the latencies expected now, and which objectives are infeasible or predictions contradicted.
func sizing(e Explanation) []string {
	var out []string
	a := e.Sizing
	for _, c := range a.Variants {
		if c.Variant == e.Variant.Key && c.PerReplica > 0 {
			out = append(out, fmt.Sprintf("a replica serves %.3g %s: %s", c.PerReplica, a.Unit, c.Source))
		}
	}
	if p := a.Predicted; p != (scaling.Latency{}) {
		out = append(out, fmt.Sprintf("expected of the Ready replicas now: TTFT %.3g ms, ITL %.3g ms in the mean", p.TTFT, p.ITL))
	}
	for _, i := range a.Infeasible {
		if i.Variant == e.Variant.Key {
			out = append(out, fmt.Sprintf("out of reach: %s of %g ms, an idle replica has %.3g ms", i.Target, i.Wanted, i.Best))
		}
	}
	for _, c := range a.Contradictions {
		if c.Variant == e.Variant.Key {
			out = append(out, fmt.Sprintf("contradicted: %s %.3g ms predicted by the profile, %.3g ms measured", c.Quantity, c.Predicted, c.Measured))
		}
	}
	if a.Signal == scaling.Unknown && a.Analyzer != "" && a.Analyzer != e.Analysis.Analyzer {
		out = append(out, fmt.Sprintf("none: %s, %s", a.Reason, a.Detail))
	}
	return out
}

// IncomparableCosts says that the cost of a variant cannot be compared with those of other variants
// of its model, and names the first of these; "" where it can.
func IncomparableCosts(v scaling.Variant, ofModel []scaling.Variant) string {
	others := slices.DeleteFunc(slices.Clone(ofModel), func(other scaling.Variant) bool {
		return other.Key == v.Key || v.CostSource.Comparable(other.CostSource)
	})
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("the cost of %s cannot be compared with that of %s, so that the cheapest of them is not known. "+
		"Set variantCost on each variant of the model, or the unit cost of each accelerator", costOf(v), scaling.FirstOf(others, seenAtMost, costOf))
}

// costOf names a variant, the cost of one of its replicas and the source of the cost.
func costOf(v scaling.Variant) string {
	source := string(v.CostSource)
	if v.CostSource == scaling.CostDefault {
		source = "the default"
	}
	return fmt.Sprintf("%s (%g, %s)", v.Key.Name, v.Cost, source)
}

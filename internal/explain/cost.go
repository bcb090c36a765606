package explain

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// IncomparableCosts says that the cost of a variant says nothing beside those of
// others of its model, "" where it does. It names the first of those.
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

// costOf names a variant, the cost of one of its replicas and where that is from.
func costOf(v scaling.Variant) string {
	source := string(v.CostSource)
	if v.CostSource == scaling.CostDefault {
		source = "the default"
	}
	return fmt.Sprintf("%s (%g, %s)", v.Key.Name, v.Cost, source)
}

package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// IncomparableCosts says that the cost of a variant says nothing beside those of
// others of its model, of which there is one at least.
func IncomparableCosts(v scaling.Variant, others []scaling.Variant) string {
	names := make([]string, 0, seenAtMost)
	for _, other := range others[:min(len(others), seenAtMost)] {
		names = append(names, costOf(other))
	}
	list := strings.Join(names, ", ")
	if more := len(others) - seenAtMost; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the cost of %s cannot be compared with that of %s, so that the cheapest of them is not known. "+
		"Set variantCost on each variant of the model, or the unit cost of each accelerator", costOf(v), list)
}

// costOf names a variant, the cost of one of its replicas and where that is from.
func costOf(v scaling.Variant) string {
	source := string(v.CostSource)
	if v.CostSource == scaling.CostDefault {
		source = "the default"
	}
	return fmt.Sprintf("%s (%g, %s)", v.Key.Name, v.Cost, source)
}

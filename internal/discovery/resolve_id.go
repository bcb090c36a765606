package discovery

import (
	"cmp"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unknownAccelerator stands in a variant ID for an accelerator that no source
// names.
const unknownAccelerator = "unknown"

// variantID returns the ID of a variant of which everything else is resolved:
// what the spec states, else its model, accelerator and count.
func variantID(stated string, v scaling.Variant) string {
	return cmp.Or(stated, fmt.Sprintf("%s-%s-%d", v.Model.ID, cmp.Or(v.Accelerator, unknownAccelerator), v.GPUsPerReplica))
}

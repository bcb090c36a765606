package discovery

import (
	"cmp"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unknownAccelerator is the accelerator in a variant ID where no source names one.
const unknownAccelerator = "unknown"

// variantID returns the stated ID, else one made of the model, the accelerator and the count of v,
// which must be resolved before.
func variantID(stated string, v scaling.Variant) string {
	return cmp.Or(stated, fmt.Sprintf("%s-%s-%d", v.Model.ID, cmp.Or(v.Accelerator, unknownAccelerator), v.GPUsPerReplica))
}

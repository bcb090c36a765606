package explain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// PodsRefused says that a target was given the replicas decided on and cannot
// create the pods for them, and why.
func PodsRefused(target scaling.TargetRef, why scaling.Trouble) string {
	return fmt.Sprintf("%s %s has the replicas decided on and cannot create pods for them: %s", target.Kind, target.Name, said(why))
}

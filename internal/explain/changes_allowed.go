package explain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// AwaitingApproval says which reduction waits for approval and how it is approved. why is the
// reason of the reduction, "" where the last cycle gave none.
func AwaitingApproval(e Explanation) (message, why string) {
	r, key := e.Decision.Reduction, e.Variant.Key
	message = fmt.Sprintf("The reduction from %d to %d of cycle %s waits for approval. Approve it: wva approve %s -n %s", r.From, r.To, r.Cycle, key.Name, key.Namespace)
	if after := e.Variant.Approval.After; after > 0 {
		message += fmt.Sprintf(". Without approval it is made %s after it began to wait", spelling.Duration(after))
	}
	for _, s := range e.Decision.Steps {
		if s.Stage == scaling.StageApproval {
			break
		}
		if s.To < s.From {
			why = ". It is wanted for the reason " + string(s.Reason)
		}
	}
	return message, why
}

// Approved says which reduction was approved and is under way.
func Approved(e Explanation) string {
	r := e.Decision.Reduction
	return fmt.Sprintf("The reduction from %d to %d of cycle %s is approved and under way", r.From, r.To, r.Cycle)
}

// Frozen says which changes a freeze window allows, and until when.
func Frozen(e Explanation) string {
	if e.Variant.Freeze.Allow == scaling.AllowGrowth {
		return fmt.Sprintf("Replicas are added and none are removed: %s", e.Variant.Freeze)
	}
	return fmt.Sprintf("The decision does not change: %s", e.Variant.Freeze)
}

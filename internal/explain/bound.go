package explain

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// limits are the reasons of steps that keep a variant from the replicas that its
// load calls for, or take them from it: its own bound, nothing that can grow, and
// the accelerators that there are or that its namespace owns.
func limits() []scaling.Reason {
	return []scaling.Reason{
		scaling.ReasonAboveMax, scaling.ReasonNoCandidate,
		scaling.ReasonInventoryUnknown, scaling.ReasonNoStock, scaling.ReasonOverQuota, scaling.ReasonReturned,
	}
}

// Bound returns the step that binds a decision, the one nearest to it, and false
// where none does. A share binds whom it gives less than was wanted.
func Bound(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(limits(), s.Reason) || s.Reason == scaling.ReasonShared && s.To < s.From {
			return s, true
		}
	}
	return scaling.Step{}, false
}

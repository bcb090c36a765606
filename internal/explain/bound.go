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

// waits are the reasons of decisions that stay as they are until something happens
// that is not the model's load.
func waits() []scaling.Reason {
	return []scaling.Reason{
		scaling.ReasonInTransition, scaling.ReasonPaused, scaling.ReasonHeld, scaling.ReasonFrozen,
		scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady,
	}
}

// GrowthHeld returns why a variant is not given the replicas that its load calls
// for, and false where it is, or is not asked to grow: what binds the decision, the
// pace at which it may change, or, while the analysis of its model says Grow, what is
// waited for. A variant that is no candidate because it has its most is AboveMax.
func GrowthHeld(v scaling.Variant, d scaling.Decision, signal scaling.Signal) (scaling.Reason, bool) {
	if bound, ok := Bound(d); ok {
		if bound.Reason == scaling.ReasonNoCandidate && d.Target() >= v.Bounds.Max {
			return scaling.ReasonAboveMax, true
		}
		return bound.Reason, true
	}
	for _, s := range d.Steps {
		if s.Stage == scaling.StageStabilize && s.To < s.From {
			return s.Reason, true
		}
	}
	if cause := d.Cause().Reason; signal == scaling.Grow && slices.Contains(waits(), cause) {
		return cause, true
	}
	return "", false
}

// Bound returns the step that binds a decision, the one nearest to it, and false
// where none does. A share binds a model that it gives less than was wanted.
func Bound(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(limits(), s.Reason) || s.Reason == scaling.ReasonShared && s.To < s.From {
			return s, true
		}
	}
	return scaling.Step{}, false
}

package explain

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// limits returns the reasons of steps that keep a variant from the replicas that its load calls
// for, or take them away: its maximum, no candidate to grow, missing accelerators, and the quota of
// its namespace.
func limits() []scaling.Reason {
	return []scaling.Reason{
		scaling.ReasonAboveMax, scaling.ReasonNoCandidate,
		scaling.ReasonInventoryUnknown, scaling.ReasonNoStock, scaling.ReasonOverQuota, scaling.ReasonReturned,
	}
}

// waits returns the reasons of decisions that stay until something other than the load changes.
func waits() []scaling.Reason {
	return []scaling.Reason{
		scaling.ReasonInTransition, scaling.ReasonPaused, scaling.ReasonHeld, scaling.ReasonFrozen,
		scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady,
	}
}

// GrowthHeld returns why a variant does not get the replicas that its load calls for; false where
// it does, or needs no more. The reason is the bound of the decision, or a limit on the pace of
// changes, or, while the analysis says Grow, what the decision waits for. A variant that is no
// candidate because it is at its maximum is AboveMax.
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

// Bound returns the last step that binds a decision, and false where none does. A step with
// ReasonShared binds only where it takes replicas away.
func Bound(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(limits(), s.Reason) || s.Reason == scaling.ReasonShared && s.To < s.From {
			return s, true
		}
	}
	return scaling.Step{}, false
}

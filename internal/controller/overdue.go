package controller

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// overdue returns the reason of an overdue order: what the order in e waits for; "" where it is not
// overdue.
func overdue(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) scaling.Reason {
	silent := e.Decision.Fallback
	if s, late := explain.Overdue(e.Decision); late {
		return s.Reason
	}
	for _, s := range e.Decision.Steps {
		silent = silent || s.Reason == scaling.ReasonInTransition
	}
	// Without an analysis no step names it, but the scheduler does.
	if since := e.Past.ProgressAt; silent && e.Variant.Replicas.Unschedulable > 0 && !since.IsZero() && e.At.Sub(since) >= scalerGrace {
		return scaling.ReasonPodsUnschedulable
	}
	if before := reported(was).reason; silent && decides(was, e) && stillWaits(before, e) {
		return before
	}
	return ""
}

// stillWaits reports whether the observed replicas are consistent with an order that still waits
// for reason.
func stillWaits(reason scaling.Reason, e explain.Explanation) bool {
	switch r := e.Variant.Replicas; reason {
	case scaling.ReasonTargetNotMoving:
		return r.Current != e.Decision.Target()
	case scaling.ReasonPodsUnschedulable:
		return r.Unschedulable > 0
	default:
		return reason == scaling.ReasonPodsNotReady
	}
}

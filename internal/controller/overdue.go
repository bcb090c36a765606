package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// overdueReasons are the reasons of steps that name an overdue order.
var overdueReasons = []scaling.Reason{
	scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady,
}

// overdue returns what the order of e waits for when it is overdue, else "".
func overdue(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) scaling.Reason {
	silent := e.Decision.Fallback
	for _, s := range e.Decision.Steps {
		if slices.Contains(overdueReasons, s.Reason) {
			return s.Reason
		}
		silent = silent || s.Reason == scaling.ReasonInTransition
	}
	if before := overdueIn(was); silent && decides(was, e) && stillWaits(before, e) {
		return before
	}
	return ""
}

// overdueIn returns what a stored status says that an order waits for.
func overdueIn(was v1alpha1.VariantAutoscalingStatus) scaling.Reason {
	c := meta.FindStatusCondition(was.Conditions, string(v1alpha1.ConditionScalerFollowing))
	switch {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionFalse:
		return scaling.Reason(c.Reason)
	case c.Message == explain.NotFollowing(scaling.ReasonPodsNotReady):
		return scaling.ReasonPodsNotReady
	}
	return ""
}

// stillWaits reports whether the replicas that are seen allow that the order
// still waits for reason.
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

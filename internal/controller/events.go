package controller

import (
	"cmp"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The reasons of events.
const (
	eventDecided              = "Decided"
	eventAdvised              = "Advised"
	eventScaledUp             = "ScaledUp"
	eventScaledDown           = "ScaledDown"
	eventScaledToZero         = "ScaledToZero"
	eventScaledFromZero       = "ScaledFromZero"
	eventNotFollowed          = "NotFollowed"
	eventHeld                 = "Held"
	eventLimited              = "Limited"
	eventTargetConflict       = "TargetConflict"
	eventInvalidConfiguration = "InvalidConfiguration"
	eventStatusNotWritten     = "StatusNotWritten"
	eventBudgetExceeded       = "BudgetExceeded"
	eventOlderDefinition      = "OlderDefinition"
	eventNotServed            = "NotServed"
	eventAwaitingApproval     = "AwaitingApproval"
	eventFrozen               = "Frozen"
)

// notice is an event to send. The events API merges a second event of the same object, reason and
// action into the first, whose note it keeps: facts that differ have different actions.
type notice struct {
	kind, reason, action, note string
}

// notices returns the notices of the changes between two statuses of an object, the second of which
// follows from v. A fact in both statuses gives none.
func notices(was, is v1alpha1.VariantAutoscalingStatus, v view) []notice {
	out := complaints(was, is, v.cycle)
	if !v.explained || !v.Decided || is.DesiredOptimizedAlloc == nil {
		return out
	}
	if n, ok := decided(was, is, v); ok {
		out = append(out, n)
	}
	if n, ok := rescaled(was, is, v); ok && !v.Variant.Advisory { // else another scaler changed them
		out = append(out, n)
	}
	if late := reported(is).reason; late != "" && late != reported(was).reason {
		out = append(out, notice{corev1.EventTypeWarning, eventNotFollowed, string(late), explain.NotFollowed(v.Explanation, late, reported(is).message)})
	}
	if n, ok := held(was, is, v); ok {
		out = append(out, n)
	}
	if n, ok := restrained(was, is, v); ok {
		out = append(out, n)
	}
	return out
}

// complaints returns the notices of what is wrong with an object or its configuration.
func complaints(was, is v1alpha1.VariantAutoscalingStatus, cycle scaling.CycleID) []notice {
	var out []notice
	tell := func(kind v1alpha1.ConditionType, reason, action string) {
		c := meta.FindStatusCondition(is.Conditions, string(kind))
		out = append(out, notice{corev1.EventTypeWarning, reason, actionFor(cmp.Or(action, c.Reason), is, kind), explain.Noted(c.Message, cycle)})
	}
	if begins(was, is, v1alpha1.ConditionDeploymentTargetConflict) {
		tell(v1alpha1.ConditionDeploymentTargetConflict, eventTargetConflict, "Arbitrate")
	}
	if begins(was, is, v1alpha1.ConditionWithinBudget) {
		tell(v1alpha1.ConditionWithinBudget, eventBudgetExceeded, "LeaveOut")
	}
	if misconfigured(is) != nil && begins(was, is, v1alpha1.ConditionConfigurationValid) {
		tell(v1alpha1.ConditionConfigurationValid, eventInvalidConfiguration, "")
	}
	return out
}

// actionFor returns the action of the event of a condition: action, with a hash of the fact of the
// condition, if any.
func actionFor(action string, is v1alpha1.VariantAutoscalingStatus, kind v1alpha1.ConditionType) string {
	fact := factOf(is, kind)
	if fact == "" {
		return action
	}
	h := fnv.New32a()
	h.Write([]byte(fact))
	return fmt.Sprintf("%s-%08x", action, h.Sum32())
}

// decided returns the notice of another decision, and false when it did not change.
func decided(was, is v1alpha1.VariantAutoscalingStatus, v view) (notice, bool) {
	from, to := int(replicas(v.Decision.Current)), int(is.DesiredOptimizedAlloc.NumReplicas)
	if was.DesiredOptimizedAlloc != nil {
		from = int(was.DesiredOptimizedAlloc.NumReplicas)
	}
	if to == from {
		return notice{}, false
	}
	action := fmt.Sprintf("DecideFrom%dTo%d", from, to)
	if v.Variant.Advisory {
		return notice{corev1.EventTypeNormal, eventAdvised, action, explain.Decided(v.Explanation, from)}, true
	}
	return notice{corev1.EventTypeNormal, eventDecided, action, explain.Decided(v.Explanation, from)}, true
}

// rescaled returns the notice that the replicas of the target came closer to the decision, or to
// the one before where both changed; false when they did not.
func rescaled(was, is v1alpha1.VariantAutoscalingStatus, v view) (notice, bool) {
	if was.CurrentAlloc == nil || is.CurrentAlloc == nil {
		return notice{}, false
	}
	from, to := scaling.Replicas(was.CurrentAlloc.NumReplicas), scaling.Replicas(is.CurrentAlloc.NumReplicas)
	var note string
	switch before := was.DesiredOptimizedAlloc; {
	case towards(from, to, scaling.Replicas(is.DesiredOptimizedAlloc.NumReplicas)):
		note = explain.Scaled(v.Explanation, from, to)
	case before != nil && before.LastUpdate != nil && towards(from, to, scaling.Replicas(before.NumReplicas)):
		note = explain.ScaledBefore(v.Explanation, from, to, scaling.Replicas(before.NumReplicas), scaling.Reason(before.LastUpdate.Reason))
	default:
		return notice{}, false
	}
	reason := eventScaledUp
	switch {
	case to == 0:
		reason = eventScaledToZero
	case from == 0:
		reason = eventScaledFromZero
	case to < from:
		reason = eventScaledDown
	}
	return notice{corev1.EventTypeNormal, reason, fmt.Sprintf("ScaleFrom%dTo%d", from, to), note}, true
}

// towards reports whether the step from one number to another is in the direction of goal.
func towards(from, to, goal scaling.Replicas) bool {
	return to > from && goal > from || to < from && goal < from
}

// held returns the notice that a variant begins to be paused, to be undecidable, or to be decided
// on without an analysis; false when none begins. A fallback that awaits the first metrics is
// reported again when they do not come.
func held(was, is v1alpha1.VariantAutoscalingStatus, v view) (notice, bool) {
	n := notice{corev1.EventTypeNormal, eventHeld, "Pause", explain.Held(v.Explanation)}
	switch {
	case paused(is) && !paused(was):
		return n, true
	case undecidable(is):
		n = notice{corev1.EventTypeWarning, eventHeld, actionFor("Stay", is, v1alpha1.ConditionOptimizationReady), explain.Noted(explain.Undecidable(v.Explanation), v.cycle)}
		return n, begins(was, is, v1alpha1.ConditionOptimizationReady)
	case awaited(is):
		n.action = "Await"
		return n, fallbackOf(was) == nil
	case fallbackOf(is) != nil && (fallbackOf(was) == nil || awaited(was)):
		n.action = "Hold"
		if v.Variant.Replicas.Ready > 0 || v.Snapshot.Fault != "" {
			n.kind = corev1.EventTypeWarning // else there is nothing to measure yet
		}
		return n, true
	}
	return notice{}, false
}

// awaited reports whether a status holds a fallback that awaits the first metrics.
func awaited(s v1alpha1.VariantAutoscalingStatus) bool {
	return fallbackOf(s) != nil && factOf(s, v1alpha1.ConditionOptimizationReady) == factAwaitsMetrics
}

// misconfigured returns the condition ConfigurationValid where it is False, else nil.
func misconfigured(s v1alpha1.VariantAutoscalingStatus) *metav1.Condition {
	c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionConfigurationValid))
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}

// paused reports whether a status says that the decision is paused.
func paused(s v1alpha1.VariantAutoscalingStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionOptimizationReady))
	return c != nil && c.Reason == string(v1alpha1.ReasonPaused)
}

// undecidable reports whether a status says that a variant cannot be decided on.
func undecidable(s v1alpha1.VariantAutoscalingStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionOptimizationReady))
	return c != nil && c.Reason == string(v1alpha1.ReasonHeld)
}

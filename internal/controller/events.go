package controller

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// The reasons of events.
const (
	eventScaledUp       = "ScaledUp"
	eventScaledDown     = "ScaledDown"
	eventNotFollowed    = "NotFollowed"
	eventHeld           = "Held"
	eventTargetConflict = "TargetConflict"
)

// notice is an event to be. The action is part of what the event API takes two
// events for the same by, the note is not: facts that differ have different
// actions.
type notice struct {
	kind, reason, action, note string
}

// notices returns what changed between two statuses of an object, the second of
// which followed from v. The same fact is in both and gives none.
func notices(was, is v1alpha1.VariantAutoscalingStatus, v view) []notice {
	var out []notice
	if conflict := contested(is); conflict != "" && conflict != contested(was) {
		note := fmt.Sprintf("%s; cycle %d", strings.TrimSuffix(conflict, "."), v.cycle)
		out = append(out, notice{corev1.EventTypeWarning, eventTargetConflict, "Arbitrate", note})
	}
	if !v.explained || !v.Decided || is.DesiredOptimizedAlloc == nil {
		return out
	}
	from, to := int(replicas(v.Decision.Current)), int(is.DesiredOptimizedAlloc.NumReplicas)
	if was.DesiredOptimizedAlloc != nil {
		from = int(was.DesiredOptimizedAlloc.NumReplicas)
	}
	action := fmt.Sprintf("ScaleFrom%dTo%d", from, to)
	switch {
	case to > from:
		out = append(out, notice{corev1.EventTypeNormal, eventScaledUp, action, explain.Scaled(v.Explanation, from)})
	case to < from:
		out = append(out, notice{corev1.EventTypeNormal, eventScaledDown, action, explain.Scaled(v.Explanation, from)})
	}
	if late := overdueIn(is); late != "" && late != overdueIn(was) {
		out = append(out, notice{corev1.EventTypeWarning, eventNotFollowed, string(late), explain.NotFollowed(v.Explanation, late)})
	}
	if fallbackOf(is) != nil && fallbackOf(was) == nil {
		kind := corev1.EventTypeWarning
		if v.Variant.Replicas.Ready == 0 && v.Snapshot.Fault == "" {
			kind = corev1.EventTypeNormal // there is nothing to measure yet
		}
		out = append(out, notice{kind, eventHeld, "Hold", explain.Held(v.Explanation)})
	}
	return out
}

// contested returns what a status says of other objects with the same target, ""
// when there are none.
func contested(s v1alpha1.VariantAutoscalingStatus) string {
	if c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionDeploymentTargetConflict)); c != nil {
		return c.Message
	}
	return ""
}

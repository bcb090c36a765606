package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// severities says how severe it is that a condition is False. Ready is not among them: it sums up
// the others.
var severities = map[v1alpha1.ConditionType]explain.Severity{
	v1alpha1.ConditionTargetResolved: explain.Urgent, v1alpha1.ConditionMetricsAvailable: explain.Urgent,
	v1alpha1.ConditionOptimizationReady: explain.Wrong, v1alpha1.ConditionScalerFollowing: explain.Urgent,
	v1alpha1.ConditionConfigurationValid: explain.Wrong, v1alpha1.ConditionWithinBudget: explain.Urgent,
	v1alpha1.ConditionChangesAllowed: explain.Note,
}

// toldWhenTrue holds the reasons with which a condition needs a look although it is not False.
var toldWhenTrue = map[v1alpha1.ConditionReason]explain.Severity{
	v1alpha1.ReasonMetricsAging: explain.Note, v1alpha1.ReasonPaused: explain.Note, v1alpha1.ReasonHeld: explain.Wrong,
	v1alpha1.ReasonPodsNotReady: explain.Urgent, v1alpha1.ReasonConflictResolvedByArbitration: explain.Wrong,
	v1alpha1.ReasonSuppressedDueToConflict: explain.Urgent, v1alpha1.ReasonFallbackUsed: explain.Wrong,
}

// Troubles returns the troubles that the conditions of an object report.
func Troubles(va *v1alpha1.VariantAutoscaling) []explain.Trouble {
	var out []explain.Trouble
	for _, c := range va.Status.Conditions {
		how, told := severities[v1alpha1.ConditionType(c.Type)]
		if c.Status != metav1.ConditionFalse || !told {
			how = toldWhenTrue[v1alpha1.ConditionReason(c.Reason)]
		}
		if c.Type == string(v1alpha1.ConditionReady) || how == explain.Fine {
			continue
		}
		if c.Reason == string(v1alpha1.ReasonFallbackUsed) && factOf(va.Status, v1alpha1.ConditionOptimizationReady) == factAwaitsMetrics {
			how = explain.Note
		}
		out = append(out, explain.Trouble{Kind: c.Type, Severity: how, Sentence: c.Message})
	}
	return out
}

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

func TestConditionsThatNeedALookAreTroubles(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	va := &v1alpha1.VariantAutoscaling{Status: v1alpha1.VariantAutoscalingStatus{Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionTargetResolved, yes, v1alpha1.ReasonTargetFound, "found"),
		condition(v1alpha1.ConditionMetricsAvailable, no, v1alpha1.ReasonMetricsMissing, "no metrics"),
		condition(v1alpha1.ConditionOptimizationReady, yes, v1alpha1.ReasonFallbackUsed, "fallback"),
		condition(v1alpha1.ConditionScalerFollowing, yes, v1alpha1.ReasonPodsNotReady, "no image"),
		condition(v1alpha1.ConditionConfigurationValid, no, v1alpha1.ReasonInvalidConfiguration, "a typing error"),
		condition(v1alpha1.ConditionDeploymentTargetConflict, yes, v1alpha1.ReasonConflictResolvedByArbitration, "two"),
		condition(v1alpha1.ConditionChangesAllowed, no, v1alpha1.ReasonFrozen, "frozen"),
		condition(v1alpha1.ConditionReady, no, v1alpha1.ReasonMetricsMissing, "no metrics"),
	}}}
	want := []explain.Trouble{
		{Kind: "MetricsAvailable", Severity: explain.Urgent, Sentence: "no metrics"},
		{Kind: "OptimizationReady", Severity: explain.Wrong, Sentence: "fallback"},
		{Kind: "ScalerFollowing", Severity: explain.Urgent, Sentence: "no image"},
		{Kind: "ConfigurationValid", Severity: explain.Wrong, Sentence: "a typing error"},
		{Kind: "DeploymentTargetConflict", Severity: explain.Wrong, Sentence: "two"},
		{Kind: "ChangesAllowed", Severity: explain.Note, Sentence: "frozen"},
	}
	if diff := cmp.Diff(Troubles(va), want); diff != "" {
		t.Errorf("troubles, -got +want:\n%s", diff)
	}
	va.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionScalerFollowing, metav1.ConditionUnknown, v1alpha1.ReasonAdvisory, "advice")}
	if got := Troubles(va); len(got) != 0 {
		t.Errorf("advice is in the way: %v", got)
	}
}

package scalers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnHPAInTheCacheIsWhatIsReadOfIt(t *testing.T) {
	three, yes := int32(3), true
	owner := metav1.OwnerReference{Kind: "ScaledObject", Name: "s", Controller: &yes}
	ballast := metav1.ObjectMeta{
		Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "7", Generation: 2, CreationTimestamp: metav1.NewTime(at(1)),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, OwnerReferences: []metav1.OwnerReference{{Kind: "Other"}, owner},
	}
	kept := metav1.ObjectMeta{
		Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "7", Generation: 2, CreationTimestamp: metav1.NewTime(at(1)),
		OwnerReferences: []metav1.OwnerReference{owner},
	}
	whole := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: ballast,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: three, Metrics: []autoscalingv2.MetricSpec{
			reading("m", nil), {Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu"}},
		}},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			DesiredReplicas: 3, CurrentReplicas: 2,
			CurrentMetrics: []autoscalingv2.MetricStatus{
				{}, {Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{
					Metric: reading("m", map[string]string{"k": "v"}).External.Metric, Current: autoscalingv2.MetricValueStatus{Value: resource.NewQuantity(1, resource.DecimalSI)},
				}},
			},
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale", Message: "words"},
				{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionFalse},
				{Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionTrue, Reason: "ScaledToZero", Message: "words"},
				{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetExternalMetric", Message: "words"},
			},
		},
	}
	want := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: kept,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: three, Metrics: []autoscalingv2.MetricSpec{
			reading("m", nil), {Type: autoscalingv2.ResourceMetricSourceType},
		}},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			DesiredReplicas: 3,
			CurrentMetrics: []autoscalingv2.MetricStatus{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{
				Metric: autoscalingv2.MetricIdentifier{Name: "m"},
			}}},
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionTrue},
				{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetExternalMetric", Message: "words"},
			},
		},
	}
	if diff := cmp.Diff(Strip(whole), want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

package scalers

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestOfSeveralNamesTheOldestScalersIsServed: the cache lists objects in any order.
func TestOfSeveralNamesTheOldestScalersIsServed(t *testing.T) {
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	reading := func(name string, age time.Duration) scalerObject {
		return scalerObject{hpa: &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(made.Add(-age)),
				Annotations: map[string]string{v1alpha1.AnnotationManaged: "true"},
			},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: []autoscalingv2.MetricSpec{{External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: decisionMetrics[0], Selector: &metav1.LabelSelector{MatchLabels: map[string]string{labelVariant: name}}},
			}}}},
		}}
	}
	v := scaling.Variant{Key: scaling.VariantKey{Namespace: "ns", Name: "v"}, Target: scaling.TargetRef{Kind: kindDeployment, Name: "d"}}
	at := claim{"ns", kindDeployment, "d"}
	objects := []scalerObject{reading("v", time.Hour), reading("a", 0), reading("c", time.Minute), reading("b", time.Minute)}
	for range objects {
		objects = append(slices.Clone(objects[1:]), objects[0])
		got := scalersOf{byClaim: map[claim][]scalerObject{at: objects}}.of(v, map[scaling.VariantKey]bool{v.Key: true})
		if got.ReadAs != "b" {
			t.Errorf("served as %q too, want b", got.ReadAs)
		}
	}
}

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// metricsAvailable returns the condition that says whether there are metrics to decide by.
func metricsAvailable(e explain.Explanation) metav1.Condition {
	const kind = v1alpha1.ConditionMetricsAvailable
	switch state, message := explain.Metrics(e); state {
	case explain.MetricsAreFound:
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonMetricsFound, message)
	case explain.MetricsAreAging:
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonMetricsAging, message)
	case explain.MetricsAreStale:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonMetricsStale, message)
	case explain.MetricsAreFailing:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonPrometheusError, message)
	default:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonMetricsMissing, message)
	}
}

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// metricsAvailable says whether there are metrics to decide by.
func metricsAvailable(e explain.Explanation) metav1.Condition {
	const kind = v1alpha1.ConditionMetricsAvailable
	if e.Snapshot.Fault != "" {
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonPrometheusError, explain.PrometheusError(e))
	}
	switch oldest(ownSamples(e)) {
	case scaling.Fresh:
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonMetricsFound, explain.MetricsFound(e))
	case scaling.Aging:
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonMetricsAging, explain.MetricsAging(e))
	case scaling.Stale:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonMetricsStale, explain.MetricsStale(e))
	default:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonMetricsMissing, explain.MetricsMissing(e))
	}
}

// ownSamples returns the samples by which a variant's metrics are judged: those
// of its own pods that are Ready or report, or of the whole model while it has
// none. A pod that starts is not expected to report.
func ownSamples(e explain.Explanation) []scaling.ReplicaSample {
	var own, all []scaling.ReplicaSample
	for _, r := range e.Snapshot.Replicas {
		if !r.Ready && !r.Reports() {
			continue
		}
		all = append(all, r)
		if r.Variant == e.Variant.Key {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

// oldest returns the least fresh state of the readings that there are, Absent
// when there are none. A pod that reports nothing is passed over while another
// reports: every new pod is such a pod until it is scraped. A pod that is stuck
// has no readings because its metrics say that it is; they are there.
func oldest(samples []scaling.ReplicaSample) scaling.Freshness {
	found := scaling.Absent
	for _, s := range samples {
		if s.Stuck != "" && found == scaling.Absent {
			found = scaling.Fresh
		}
		for _, state := range []scaling.Freshness{s.KVCacheUsage.State, s.QueueLength.State} {
			if state >= scaling.Stale && (found == scaling.Absent || state < found) {
				found = state
			}
		}
	}
	return found
}

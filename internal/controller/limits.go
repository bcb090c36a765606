package controller

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// tellLimit reports, when it begins, that a variant does not get the replicas that its load calls
// for. No status holds this, because the decision stays the same.
func (s *Status) tellLimit(va *v1alpha1.VariantAutoscaling, v view) {
	step, limited := scaling.Step{}, false
	if v.explained && !v.suppressed(keyOf(va)) && !v.Variant.Advisory {
		step, limited = explain.Bound(v.Decision)
	}
	if s.limits.begins(keyOf(va), step.Reason) && limited {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventLimited, string(step.Reason), "%s", explain.LimitedTo(v.Explanation, step))
	}
}

package controller

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// actionCompareCosts is the action of the event that reports costs that cannot be compared.
const actionCompareCosts = "CompareCosts"

// tellCosts reports, when it begins, that the cost of a variant cannot be compared with those of
// other variants of its model: no configuration then says which is the cheapest.
func (s *Status) tellCosts(va *v1alpha1.VariantAutoscaling, v view) {
	note := ""
	if v.explained && !v.suppressed(keyOf(va)) {
		note = explain.IncomparableCosts(v.Variant, v.Snapshot.Variants)
	}
	if s.costs.begins(keyOf(va), note) && note != "" {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventInvalidConfiguration, actionCompareCosts, "%s", explain.Noted(note, v.cycle))
	}
}

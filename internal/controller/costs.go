package controller

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// actionCompareCosts is the action of the event that says that costs cannot be
// compared.
const actionCompareCosts = "CompareCosts"

// tellCosts tells, when it begins, that the cost of a variant cannot be compared
// with those of others that serve the same model: which of them is the cheapest
// then follows from nothing that anybody configured.
func (s *Status) tellCosts(va *v1alpha1.VariantAutoscaling, v view) {
	note := ""
	if v.explained && !v.suppressed(keyOf(va)) {
		note = explain.IncomparableCosts(v.Variant, v.Snapshot.Variants)
	}
	if s.costs.begins(keyOf(va), note) && note != "" {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventInvalidConfiguration, actionCompareCosts, "%s", explain.Noted(note, v.cycle))
	}
}

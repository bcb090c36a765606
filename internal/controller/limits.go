package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// limitReasons are the reasons of steps that keep a variant from the replicas
// that its load calls for.
var limitReasons = []scaling.Reason{scaling.ReasonAboveMax, scaling.ReasonNoCandidate}

// limit returns the step that limits a decision, and false when none does.
func limit(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(limitReasons, s.Reason) {
			return s, true
		}
	}
	return scaling.Step{}, false
}

// tellLimit tells, when it begins, that a variant does not get the replicas that
// its load calls for. No status holds this, since the decision stays what it is.
func (s *Status) tellLimit(va *v1alpha1.VariantAutoscaling, v view) {
	step, limited := scaling.Step{}, false
	if v.explained && !v.suppressed(keyOf(va)) {
		step, limited = limit(v.Decision)
	}
	if s.limits.begins(keyOf(va), step.Reason) && limited {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventLimited, string(step.Reason), "%s", explain.LimitedTo(v.Explanation, step))
	}
}

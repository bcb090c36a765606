package controller

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Configured knows what of the configuration concerns variants.
type Configured interface {
	// FindingsFor returns what concerns the variants of a model on an accelerator,
	// "" for any.
	FindingsFor(m scaling.ModelKey, accelerator string) []config.Finding
	// Objective returns what requests of a model should meet, given the service
	// class that a variant names, or an error that says that there is none.
	Objective(m scaling.ModelKey, ref config.ClassRef) (config.Objective, error)
	// Watch returns a channel that receives when any of this may have changed.
	Watch() <-chan struct{}
}

var _ Configured = (*Configuration)(nil)

// What a condition repeats of findings, which an event repeats in turn: whoever
// mends the first sees the next.
const (
	mostFindings   = 3
	longestFinding = 280 // characters
)

// configurationValid says whether every entry that concerns va is in force. It
// does not stand in the way of Ready: something else is in force instead.
func configurationValid(c Configured, va *v1alpha1.VariantAutoscaling, accelerator string) metav1.Condition {
	const kind = v1alpha1.ConditionConfigurationValid
	model := modelOf(va)
	if refused := refusals(c.FindingsFor(model, accelerator)); len(refused) > 0 {
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, strings.Join(refused, "; "))
	}
	if ref := va.Spec.SLOClassRef; ref != nil {
		objective, err := c.Objective(model, config.ClassRef{Name: ref.Name, Key: ref.Key})
		switch {
		case err != nil:
			return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing, err.Error())
		case objective.Unfollowed != "":
			return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing,
				fmt.Sprintf("%s; in force: class %s", objective.Unfollowed, objective.Class))
		}
	}
	return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, "Every entry that concerns the variant is in force.")
}

// refusals returns what is not in force, in words.
func refusals(findings []config.Finding) []string {
	var out []string
	more := 0
	for _, f := range findings {
		switch {
		case f.Severity != config.Refused:
		case len(out) < mostFindings:
			out = append(out, firstOf(f.String(), longestFinding))
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}

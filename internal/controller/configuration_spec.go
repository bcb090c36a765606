package controller

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// specProblems returns what of an object itself is not in force, in words: what no
// schema refuses, and what an object holds that was stored under an older one.
func specProblems(va *v1alpha1.VariantAutoscaling, v view) []string {
	var out []string
	refuse := func(key, value, want, inForce string) {
		err := config.FieldError{Key: key, Value: firstOf(value, longestFinding/4), Want: want}
		out = append(out, err.Error()+"; in force: "+inForce)
	}
	if cost := va.Spec.VariantCost; cost != "" && !isCost(cost) {
		refuse("spec.variantCost", cost, fmt.Sprintf("a decimal number from 0 to %g", math.MaxFloat64), "what holds without it")
	}
	if most := va.Spec.MaxReplicas; most != nil && *most < va.Spec.MinReplicas {
		refuse("spec.maxReplicas", strconv.Itoa(int(*most)), fmt.Sprintf("minReplicas (%d) or more", va.Spec.MinReplicas),
			scaling.Replicas(scaling.Bounds{Min: int(va.Spec.MinReplicas), Max: int(*most)}.Clamp(0)))
	}
	if value, ok := va.Annotations[v1alpha1.AnnotationPaused]; ok && value != "true" && value != "false" {
		refuse("annotation "+v1alpha1.AnnotationPaused, value, `"true" or "false"`, "false")
	}
	if problem := v.Variant.Profile.Problem; problem != "" {
		out = append(out, "spec."+problem+"; in force: no profile")
	}
	if problem := v.Variant.Limits.Problem; problem != "" {
		out = append(out, "target, "+problem+"; in force: no limits of the engine")
	}
	return out
}

// isCost reports whether text is a cost: finite and not negative.
func isCost(text string) bool {
	cost, err := strconv.ParseFloat(text, 64)
	return err == nil && cost >= 0 && !math.IsInf(cost, 0)
}

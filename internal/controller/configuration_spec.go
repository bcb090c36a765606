package controller

import (
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// specProblems returns the problems of the object itself: values that no schema refuses, and values
// stored under an older schema. It also returns the problems of the target, the profile and the
// engine arguments of its variant.
func specProblems(va *v1alpha1.VariantAutoscaling, v view) []problem {
	var out []problem
	refuse := func(key, value, want, inForce string) {
		err := config.FieldError{Key: key, Value: firstOf(value, longestFinding/4), Want: want}
		out = append(out, problem{err.Error() + "; in force: " + inForce, fieldFact(key, err.Value)})
	}
	if v := v.Variant; v.Origin != "" && v.Gone {
		out = append(out, problem{v.Missing + "; in force: its last decision", fieldFact("target", v.Target.Kind+" "+v.Target.Name)})
	}
	if cost := va.Spec.VariantCost; cost != "" && !isCost(cost) {
		refuse("spec.variantCost", cost, fmt.Sprintf("a decimal number from 0 to %g", math.MaxFloat64), "what holds without it")
	}
	if most := va.Spec.MaxReplicas; most != nil && *most < va.Spec.MinReplicas {
		refuse("spec.maxReplicas", strconv.Itoa(int(*most)), fmt.Sprintf("minReplicas (%d) or more", va.Spec.MinReplicas),
			(scaling.Bounds{Min: scaling.Replicas(va.Spec.MinReplicas), Max: scaling.Replicas(*most)}.Clamp(0)).Text())
	}
	annotationProblems(va, refuse)
	for field, size := range batchSizes(va.Spec) {
		if size > scaling.MostBatch {
			refuse("spec."+field, strconv.Itoa(int(size)), fmt.Sprintf("a number from 1 to %d", scaling.MostBatch), strconv.Itoa(scaling.MostBatch))
			break // one is enough to mend the others
		}
	}
	if why := v.Variant.Profile.Problem; why != "" {
		out = append(out, problem{"spec." + why + "; in force: no profile", "profile " + v.Variant.Profile.Source})
	}
	if why := v.Variant.Limits.Problem; why != "" {
		out = append(out, problem{"target, " + why + "; in force: no limits of the engine", "engine arguments"})
	}
	return out
}

// annotationProblems calls refuse for each annotation whose value is invalid.
func annotationProblems(va *v1alpha1.VariantAutoscaling, refuse func(key, value, want, inForce string)) {
	if value, ok := va.Annotations[v1alpha1.AnnotationPaused]; ok && value != "true" && value != "false" {
		refuse("annotation "+v1alpha1.AnnotationPaused, value, `"true" or "false"`, "false")
	}
	if value, ok := va.Annotations[v1alpha1.AnnotationApprove]; ok {
		if _, err := scaling.ParseApproval(value); err != nil {
			refuse("annotation "+v1alpha1.AnnotationApprove, value, scaling.ApprovalWanted, "shrink, without an end")
		}
	}
	if value, ok := va.Annotations[v1alpha1.AnnotationApproved]; ok {
		if _, err := scaling.ParseGrant(value); err != nil {
			refuse("annotation "+v1alpha1.AnnotationApproved, value, scaling.GrantWanted, "no approval")
		}
	}
}

// batchSizes returns the maximum batch sizes of a spec by their fields.
func batchSizes(spec v1alpha1.VariantAutoscalingSpec) iter.Seq2[string, int32] {
	return func(yield func(string, int32) bool) {
		if p := spec.VariantProfile; p != nil && p.MaxBatchSize != nil && !yield("variantProfile.maxBatchSize", *p.MaxBatchSize) {
			return
		}
		if spec.ModelProfile == nil {
			return
		}
		for i, e := range spec.ModelProfile.Accelerators {
			if e.MaxBatchSize != nil && !yield(fmt.Sprintf("modelProfile.accelerators[%d].maxBatchSize", i), *e.MaxBatchSize) {
				return
			}
		}
	}
}

// isCost reports whether text is a cost: finite and not negative.
func isCost(text string) bool {
	cost, err := strconv.ParseFloat(text, 64)
	return err == nil && cost >= 0 && !math.IsInf(cost, 0)
}

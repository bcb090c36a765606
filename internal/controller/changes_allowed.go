package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// changesAllowed returns the condition of a variant whose reduction waits for approval or was
// approved, or that a freeze window holds; false for any other.
func changesAllowed(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) (stated, bool) {
	const kind = v1alpha1.ConditionChangesAllowed
	r, frozen := e.Decision.Reduction, e.Variant.Freeze.Allow != "" && e.Variant.Undecidable == ""
	switch {
	case r.Waits():
		message, why := explain.AwaitingApproval(e)
		fact := reductionFact(r)
		if frozen {
			message, fact = message+". "+explain.Frozen(e), fact+factEnd+e.Variant.Freeze.String()
		}
		return kept(was, stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval, message), fact}, why), true
	case frozen && e.Variant.Freeze.Allow == scaling.AllowGrowth:
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonGrowthOnly, explain.Frozen(e)), frozenFact(e)}, true
	case frozen:
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonFrozen, explain.Frozen(e)), frozenFact(e)}, true
	case r.Approved:
		return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonApproved, explain.Approved(e)), reductionFact(r)}, true
	}
	return stated{}, false
}

// frozenFact returns the fact of a freeze window, and of an approved reduction that it delays.
func frozenFact(e explain.Explanation) string {
	if r := e.Decision.Reduction; r.Approved {
		return reductionFact(r) + factEnd + e.Variant.Freeze.String()
	}
	return e.Variant.Freeze.String()
}

func reductionFact(r scaling.Reduction) string { return scaling.FactReduction + r.String() }

// reductionOf returns the reduction that a status holds, the zero value for none. Its approval is
// an annotation of the object.
func reductionOf(s v1alpha1.VariantAutoscalingStatus) scaling.Reduction {
	r, _ := scaling.ReductionIn(factOf(s, v1alpha1.ConditionChangesAllowed))
	return r
}

// restrained returns the notice that a reduction begins to wait for approval, or that a freeze
// window begins; false when neither does.
func restrained(was, is v1alpha1.VariantAutoscalingStatus, v view) (notice, bool) {
	const kind = v1alpha1.ConditionChangesAllowed
	c, before := meta.FindStatusCondition(is.Conditions, string(kind)), meta.FindStatusCondition(was.Conditions, string(kind))
	if c == nil || c.Status != metav1.ConditionFalse || before != nil && was.Facts == nil {
		return notice{}, false
	}
	same := before != nil && before.Reason == c.Reason && reductionOf(was).Cycle == reductionOf(is).Cycle
	if c.Reason == string(v1alpha1.ReasonAwaitingApproval) {
		return notice{corev1.EventTypeNormal, eventAwaitingApproval, "AskFor" + string(reductionOf(is).Cycle), explain.Noted(c.Message, v.cycle)}, !same
	}
	return notice{corev1.EventTypeNormal, eventFrozen, "Begin" + c.Reason, explain.Noted(c.Message, v.cycle)}, !same
}

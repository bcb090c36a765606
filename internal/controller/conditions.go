package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// condition returns a condition without its generation and time.
func condition(kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason v1alpha1.ConditionReason, message string) metav1.Condition {
	return metav1.Condition{Type: string(kind), Status: status, Reason: string(reason), Message: message}
}

// explained returns the conditions of a variant that a cycle saw, without Ready. va has its
// previous status.
func explained(va *v1alpha1.VariantAutoscaling, v view) []stated {
	e := v.Explanation
	return []stated{
		{targetResolved(e), ""}, {metricsAvailable(e), ""}, optimizationReady(va.Status, e), {scalerFollowing(va, v), ""},
	}
}

func targetResolved(e explain.Explanation) metav1.Condition {
	const kind = v1alpha1.ConditionTargetResolved
	if !e.Variant.Replicas.Observed {
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonTargetNotFound, explain.TargetNotFound(e))
	}
	return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonTargetFound, explain.TargetFound(e))
}

// optimizationReady says whether there is a decision, and what it rests on. While a fallback lasts
// at one number, its message stays, because it says since when, which an earlier process may know
// better. The message that awaits the first metrics does not stay.
func optimizationReady(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) stated {
	const kind = v1alpha1.ConditionOptimizationReady
	switch {
	case !e.Decided:
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonMetricsUnavailable, explain.Undecided()), ""}
	case e.Variant.Undecidable != "":
		return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonHeld, explain.Undecidable(e)), firstOf(e.Variant.Undecidable, longestFact)}
	case e.Variant.Paused:
		return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonPaused, explain.Paused(e)), ""}
	case !e.Decision.Fallback:
		if stable, moving := explain.Infeasible(e); stable != "" {
			return kept(was, stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonOptimizationFailed, stable), infeasible(e)}, moving)
		}
		return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonOptimizationSucceeded, explain.Optimized(e)), ""}
	}
	if before := fallbackOf(was); before != nil && factOf(was, kind) != factAwaitsMetrics && decides(was, e) {
		return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonFallbackUsed, before.Message), factOf(was, kind)}
	}
	out := stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonFallbackUsed, explain.FellBack(e)), ""}
	if explain.AwaitsMetrics(e) {
		out.fact = factAwaitsMetrics
	}
	return out
}

// infeasible returns the fact of objectives that no variant meets: the objectives that the message
// names, without the best possible latencies, which move with the load, and how many others there
// are.
func infeasible(e explain.Explanation) string {
	all := e.Sizing.Infeasible
	var parts []string
	for _, of := range all[:min(explain.InfeasibleNamed, len(all))] {
		parts = append(parts, fmt.Sprintf("%s %s %g", of.Variant.Name, of.Target, of.Wanted))
	}
	if more := len(all) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("+%d", more))
	}
	return strings.Join(parts, factEnd)
}

// kept returns c, whose message ends with the numbers in moving. If the status holds the condition
// with the same reason and fact, the stored message stays: a status is written only when its
// meaning changes.
func kept(was v1alpha1.VariantAutoscalingStatus, c stated, moving string) stated {
	if before := meta.FindStatusCondition(was.Conditions, c.Type); before != nil && before.Reason == c.Reason {
		same := factOf(was, v1alpha1.ConditionType(c.Type)) == c.fact
		if was.Facts == nil { // an older definition drops them
			same = strings.HasPrefix(before.Message, c.Message)
		}
		if same {
			c.Message = before.Message
			return c
		}
	}
	c.Message += moving
	return c
}

// fallbackOf returns the condition by which a status holds a fallback, nil when it holds none.
func fallbackOf(was v1alpha1.VariantAutoscalingStatus) *metav1.Condition {
	c := meta.FindStatusCondition(was.Conditions, string(v1alpha1.ConditionOptimizationReady))
	if c == nil || c.Reason != string(v1alpha1.ReasonFallbackUsed) {
		return nil
	}
	return c
}

// decides reports whether a status holds the number of replicas that e decides.
func decides(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) bool {
	return was.DesiredOptimizedAlloc != nil && was.DesiredOptimizedAlloc.NumReplicas == replicas(e.Decision.Target())
}

// ready sums up conditions, which are in the order of their importance. A decision that is paused
// or held makes Ready False too.
func ready(conditions []stated) stated {
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue || c.Reason == string(v1alpha1.ReasonPaused) || c.Reason == string(v1alpha1.ReasonHeld) {
			return stated{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ConditionReason(c.Reason), c.Message), ""}
		}
	}
	return stated{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, explain.ReadyToScale()), ""}
}

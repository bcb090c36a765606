package controller

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// view is all that is known of one object after a cycle.
type view struct {
	at        time.Time // of the cycle
	cycle     scaling.CycleID
	explained bool // whether the cycle saw the variant
	explain.Explanation
	leftOut    string               // why the budget of its namespace leaves it out, "" if it does not
	leftOutFor string               // the limit of the budget that it exceeds
	contenders []scaling.VariantKey // all variants that name its target, nil for it alone
	scalers    scaling.Scalers      // the scalers of its target
	podFailure scaling.Trouble      // why pods of its target are not created
	scaled     scaleOutcome         // the outcome of setting its replicas
	classes    []config.ClassRef    // the classes that the variants of its model name
	mayZero    bool                 // whether its model may go to zero
	// configuration says whether all of the configuration is in force, nil if unknown.
	configuration *stated
}

// suppressed reports whether another object scales the target of key.
func (v view) suppressed(key scaling.VariantKey) bool {
	return len(v.contenders) > 1 && v.contenders[0] != key
}

// next returns the status that va should have, and false when the cycle knows nothing of it. It
// does not modify va.
func next(va *v1alpha1.VariantAutoscaling, v view) (v1alpha1.VariantAutoscalingStatus, bool) {
	status := *va.Status.DeepCopy()
	var conditions []stated
	restrained := false
	switch key := keyOf(va); {
	case v.leftOut != "":
		conditions = []stated{
			{condition(v1alpha1.ConditionWithinBudget, metav1.ConditionFalse, v1alpha1.ReasonBudgetExceeded, v.leftOut), v.leftOutFor},
			{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonBudgetExceeded, v.leftOut), ""},
		}
		if status.Actuation != nil {
			status.Actuation.Applied = false
		}
	case v.suppressed(key):
		conditions = suppress(va, v)
		if status.Actuation != nil {
			status.Actuation.Applied = false
		}
	case v.explained:
		conditions = explained(va, v)
		conditions = append(conditions, ready(conditions))
		if len(v.contenders) > 1 {
			conditions = append(conditions, stated{condition(v1alpha1.ConditionDeploymentTargetConflict, metav1.ConditionTrue,
				v1alpha1.ReasonConflictResolvedByArbitration, conflictOf(va, v).Won()), contention(va, v)})
		}
		if c, ok := changesAllowed(va.Status, v.Explanation); ok {
			conditions, restrained = append(conditions, c), true
		}
		status.CurrentAlloc = currentAlloc(va, v.Explanation)
		status.DesiredOptimizedAlloc = desiredAlloc(va.Status, v.Explanation)
		status.Actuation = actuation(va.Status, status.DesiredOptimizedAlloc, v)
	default:
		return status, false
	}
	if v.leftOut == "" {
		retract(&status, v1alpha1.ConditionWithinBudget)
	}
	if !restrained {
		retract(&status, v1alpha1.ConditionChangesAllowed)
	}
	if len(v.contenders) <= 1 {
		retract(&status, v1alpha1.ConditionDeploymentTargetConflict)
	}
	if v.configuration != nil {
		conditions = append(conditions, *v.configuration) // after Ready: it does not affect Ready
	}
	for _, c := range conditions {
		c.ObservedGeneration, c.LastTransitionTime = va.Generation, metav1.NewTime(v.at)
		state(&status, c)
	}
	return status, true
}

// suppress returns the conditions of an object whose target another one scales.
func suppress(va *v1alpha1.VariantAutoscaling, v view) []stated {
	message := conflictOf(va, v).Lost()
	return []stated{
		{condition(v1alpha1.ConditionDeploymentTargetConflict, metav1.ConditionTrue, v1alpha1.ReasonSuppressedDueToConflict, message), contention(va, v)},
		{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuppressedDueToConflict, message), ""},
	}
}

// contention returns the fact of a conflict: the target, and the variants that name it.
func contention(va *v1alpha1.VariantAutoscaling, v view) string {
	target := va.Target()
	parts := []string{target.Kind + " " + target.Name}
	for _, key := range v.contenders {
		parts = append(parts, key.String())
	}
	return strings.Join(parts, factEnd)
}

func conflictOf(va *v1alpha1.VariantAutoscaling, v view) explain.Conflict {
	return explain.Conflict{Target: scaling.TargetRef(va.Target()), Contenders: v.contenders}
}

// differs reports whether two statuses mean different things.
func differs(a, b v1alpha1.VariantAutoscalingStatus) bool {
	return !equality.Semantic.DeepEqual(meaning(a), meaning(b))
}

// meaning returns a status without the fields that move by themselves.
func meaning(s v1alpha1.VariantAutoscalingStatus) v1alpha1.VariantAutoscalingStatus {
	s = *s.DeepCopy()
	if s.CurrentAlloc != nil {
		s.CurrentAlloc.TTFTAverage, s.CurrentAlloc.ITLAverage = "", ""
	}
	if s.DesiredOptimizedAlloc != nil {
		s.DesiredOptimizedAlloc.LastRunTime = nil
	}
	s.Facts = nil // the conditions say the same; an older definition drops them
	return s
}

// currentAlloc returns the present replicas and latencies. While the target cannot be read, it
// keeps the last known replicas; nil where none are known.
func currentAlloc(va *v1alpha1.VariantAutoscaling, e explain.Explanation) *v1alpha1.CurrentAlloc {
	if va.Status.CurrentAlloc == nil && !e.Variant.Replicas.Observed {
		return nil
	}
	out := v1alpha1.CurrentAlloc{
		VariantID:   e.Variant.ID,
		NumReplicas: replicas(e.Variant.Replicas.Current),
		TTFTAverage: milliseconds(e.Snapshot.Load.TTFT),
		ITLAverage:  milliseconds(e.Snapshot.Load.ITL),
	}
	if !e.Variant.Replicas.Observed {
		out.NumReplicas = va.Status.CurrentAlloc.NumReplicas
	}
	return &out
}

// milliseconds returns a reading in ms with two decimals, "" when it is unknown.
func milliseconds(r scaling.Reading) string {
	if !r.Known() {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Value)
}

// actuation says whether the target has the replicas decided on, and what sets them; nil when there
// is no decision. While the scaler is unknown, the last known one stays.
func actuation(was v1alpha1.VariantAutoscalingStatus, desired *v1alpha1.OptimizedAlloc, v view) *v1alpha1.Actuation {
	if desired == nil {
		return nil
	}
	r := v.Variant.Replicas
	out := v1alpha1.Actuation{Applied: r.Observed && replicas(r.Current) == desired.NumReplicas}
	switch {
	case v.scalers.Known:
		out.Scaler = explain.WhoScales(v.scalers)
	case was.Actuation != nil:
		out.Scaler = was.Actuation.Scaler
	}
	return &out
}

// replicas returns a number of replicas in the type of the API.
func replicas(n scaling.Replicas) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

func keyOf(va *v1alpha1.VariantAutoscaling) scaling.VariantKey {
	return scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}
}

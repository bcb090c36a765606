package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Restorer takes over the decisions of an earlier process.
type Restorer interface {
	// Restore remembers p for a variant, and when an analysis last stood behind the decision, zero
	// where that is unknown.
	Restore(key scaling.VariantKey, p memory.Past, analyzedAt time.Time)
}

var _ Restorer = (*ledger.Ledger)(nil)

// Restore gives memory the decisions in the status of every VariantAutoscaling. Call it before the
// first cycle of a process. It leaves out objects without a decision or without the time of it,
// objects whose target another object scaled, and objects whose decision was advice: these count as
// never decided on.
func Restore(ctx context.Context, reader client.Reader, memory Restorer) error {
	var list v1alpha1.VariantAutoscalingList
	if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing VariantAutoscalings to restore their decisions: %w", err)
	}
	for i := range list.Items {
		va := &list.Items[i]
		if past, ok := pastOf(va.Status); ok {
			memory.Restore(keyOf(va), past, analyzedAt(va.Status))
		}
	}
	return nil
}

// pastOf returns the decision that a status holds, and false when it holds none. An order that was
// not followed has waited since it was decided on, so an overdue order stays overdue. For any
// other, the wait begins with the first look at the target, because the status does not tell the
// progress since. An obstacle that would stop the next decision is no order.
func pastOf(s v1alpha1.VariantAutoscalingStatus) (memory.Past, bool) {
	d := s.DesiredOptimizedAlloc
	if d == nil || d.LastUpdate == nil || d.LastUpdate.UpdateTime.IsZero() || suppressed(s) || advised(s) {
		return memory.Past{}, false
	}
	at := d.LastUpdate.UpdateTime.Time
	past := memory.Past{Desired: scaling.Replicas(d.NumReplicas), Change: scaling.Replicas(d.LastUpdate.NumReplicasChanged), DecidedAt: at}
	past.Reductions.Reduction = reductionOf(s)
	last := reported(s)
	latent := last.atRest && slices.Contains(byScaler, last.reason) // nothing was ordered
	if meta.IsStatusConditionFalse(s.Conditions, string(v1alpha1.ConditionScalerFollowing)) && !latent {
		past.ProgressAt = at
	}
	return past, true
}

// suppressed reports whether a status says that another object scales the target.
func suppressed(s v1alpha1.VariantAutoscalingStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionDeploymentTargetConflict))
	return c != nil && c.Reason == string(v1alpha1.ReasonSuppressedDueToConflict)
}

// advised reports whether a status says that its decision is advice.
func advised(s v1alpha1.VariantAutoscalingStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, string(v1alpha1.ConditionScalerFollowing))
	return c != nil && c.Reason == string(v1alpha1.ReasonAdvisory)
}

// analyzedAt returns the last time at which, by the status, an analysis stood behind the decision;
// zero during a fallback.
func analyzedAt(s v1alpha1.VariantAutoscalingStatus) time.Time {
	if d := s.DesiredOptimizedAlloc; fallbackOf(s) == nil && d != nil && d.LastRunTime != nil {
		return d.LastRunTime.Time
	}
	return time.Time{}
}

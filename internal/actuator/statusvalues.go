package actuator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// StatusValues returns the External Metrics of a process that does not lead, or has not
// decided yet, from the status of each VariantAutoscaling.
type StatusValues struct {
	reader   client.Reader
	followed func(ctx context.Context, variants []scaling.Variant) []scaling.Variant
}

var _ external.Fallback = (*StatusValues)(nil)

// NewStatusValues returns StatusValues that read from reader, a cache. followed returns variants,
// sorted by key, as the scalers of their targets read them (scaling.Variant.FollowedBy).
func NewStatusValues(reader client.Reader, followed func(context.Context, []scaling.Variant) []scaling.Variant) *StatusValues {
	return &StatusValues{reader: reader, followed: followed}
}

// Values returns the last decisions for the variants of a namespace. It leaves out variants
// without a decision, variants that are being deleted, variants whose target another object
// scales, and variants whose decision no scaler may read.
func (s *StatusValues) Values(ctx context.Context, namespace string) ([]external.Value, error) {
	variants, last, err := s.variants(ctx, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("listing VariantAutoscalings of namespace %s: %w", namespace, err)
	}
	values := make([]external.Value, 0, len(variants))
	for _, v := range variants {
		if v.Unpublished() {
			continue
		}
		value := last[v.Key]
		value.ReadAs, value.ByValue = v.ReadAs, v.ByValue
		values = append(values, value)
	}
	return values, nil
}

// Record returns the last decisions for the variants of all namespaces as of now, for Restore. Each
// variant has only the values of its series.
func (s *StatusValues) Record(ctx context.Context, now time.Time) (memory.Record, error) {
	variants, last, err := s.variants(ctx)
	if err != nil {
		return memory.Record{}, fmt.Errorf("listing VariantAutoscalings to publish their decisions again: %w", err)
	}
	record := memory.Record{Fleet: scaling.Fleet{At: now, Variants: variants}, Plan: scaling.Plan{At: now}}
	for _, v := range variants {
		// A status holds no steps; without them the target is Current.
		record.Plan.Decisions = append(record.Plan.Decisions, scaling.Decision{Variant: v.Key, Current: last[v.Key].Desired})
	}
	return record, nil
}

// variants returns the variants whose status holds a decision, sorted by key, and the last
// decisions on them.
func (s *StatusValues) variants(ctx context.Context, of ...client.ListOption) ([]scaling.Variant, map[scaling.VariantKey]external.Value, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := s.reader.List(ctx, &list, append(of, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, nil, err //nolint:wrapcheck // the callers say what is listed
	}
	var variants []scaling.Variant
	last := map[scaling.VariantKey]external.Value{}
	advisory := map[scaling.ModelKey]bool{}
	for i := range list.Items {
		va := &list.Items[i]
		if asks := va.Annotations[v1alpha1.AnnotationActuation]; asks == string(scaling.ActuationAdvisory) && va.DeletionTimestamp.IsZero() && !suppressed(va) {
			advisory[scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}] = true
		}
		value, ok := statusValue(va)
		if !ok {
			continue
		}
		v := scaling.Variant{
			Key: value.Variant, ID: variantID(va), Target: value.Target, Accelerator: value.Accelerator,
			Model:    scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID},
			Replicas: scaling.ReplicaCounts{Observed: value.Observed, Current: value.Current},
			Paused:   va.Annotations[v1alpha1.AnnotationPaused] == "true",
		}
		if va.FromScaler() {
			v.Origin = va.Kind
		}
		variants, last[v.Key] = append(variants, v), value
	}
	for i := range variants {
		variants[i].Advisory = advisory[variants[i].Model]
	}
	return s.followed(ctx, scaling.ByKey(variants)), last, nil
}

// variantID returns the variant ID in the spec of an object, else the one that an earlier cycle
// wrote into its status, else "".
func variantID(va *v1alpha1.VariantAutoscaling) string {
	if current := va.Status.CurrentAlloc; va.Spec.VariantID == "" && current != nil {
		return current.VariantID
	}
	return va.Spec.VariantID
}

func statusValue(va *v1alpha1.VariantAutoscaling) (external.Value, bool) {
	decided := va.Status.DesiredOptimizedAlloc
	if decided == nil || decided.LastUpdate == nil || decided.LastUpdate.UpdateTime == nil ||
		!va.DeletionTimestamp.IsZero() || suppressed(va) || advised(va) {
		return external.Value{}, false
	}
	value := external.Value{
		Variant:     scaling.VariantKey{Namespace: va.Namespace, Name: va.Name},
		Target:      scaling.TargetRef(va.Target()),
		Accelerator: decided.Accelerator, Desired: scaling.Replicas(decided.NumReplicas), At: decided.LastUpdate.UpdateTime.Time,
	}
	if current := va.Status.CurrentAlloc; current != nil {
		value.Current, value.Observed = scaling.Replicas(current.NumReplicas), true
	}
	return value, true
}

// advised reports whether the last decision on va was advice. No scaler may read it, even if the
// settings have changed since.
func advised(va *v1alpha1.VariantAutoscaling) bool {
	c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionScalerFollowing))
	return c != nil && c.Reason == string(v1alpha1.ReasonAdvisory)
}

// suppressed reports whether another object scales the target of va. Then va publishes
// nothing, whatever its last decision was.
func suppressed(va *v1alpha1.VariantAutoscaling) bool {
	c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionDeploymentTargetConflict))
	return c != nil && c.Reason == string(v1alpha1.ReasonSuppressedDueToConflict)
}

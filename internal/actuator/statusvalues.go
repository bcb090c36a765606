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
)

// StatusValues returns the External Metrics of a process that does not lead, or has not
// decided yet, from the status of each VariantAutoscaling.
type StatusValues struct {
	reader client.Reader
	readAs func(ctx context.Context, variants []scaling.Variant) map[scaling.VariantKey]scaling.Scalers
}

var _ external.Fallback = (*StatusValues)(nil)

// NewStatusValues returns StatusValues that read from reader, a cache. readAs returns how scalers
// read the decisions on variants (the fields ReadAs and ByValue of scaling.Scalers).
func NewStatusValues(reader client.Reader, readAs func(context.Context, []scaling.Variant) map[scaling.VariantKey]scaling.Scalers) *StatusValues {
	return &StatusValues{reader: reader, readAs: readAs}
}

// Values returns the last decisions for the variants of a namespace. It leaves out variants
// without a decision, variants that are being deleted, and variants whose target another
// object scales.
func (s *StatusValues) Values(ctx context.Context, namespace string) ([]external.Value, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := s.reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing VariantAutoscalings of namespace %s: %w", namespace, err)
	}
	values := make([]external.Value, 0, len(list.Items))
	for i := range list.Items {
		if v, ok := statusValue(&list.Items[i]); ok {
			values = append(values, v)
		}
	}
	s.nameValues(ctx, values)
	return values, nil
}

// nameValues sets how scalers read values.
func (s *StatusValues) nameValues(ctx context.Context, values []external.Value) {
	variants := make([]scaling.Variant, len(values))
	for i, v := range values {
		variants[i] = scaling.Variant{Key: v.Variant, Target: v.Target, Accelerator: v.Accelerator}
	}
	names := s.readAs(ctx, scaling.ByKey(variants))
	for i := range values {
		by := names[values[i].Variant]
		values[i].ReadAs, values[i].ByValue = by.ReadAs, by.ByValue
	}
}

// Record returns the last decisions for the variants of all namespaces as of now, for
// Restore: each variant only with the values of its series.
func (s *StatusValues) Record(ctx context.Context, now time.Time) (scaling.Record, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := s.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return scaling.Record{}, fmt.Errorf("listing VariantAutoscalings to publish their decisions again: %w", err)
	}
	record := scaling.Record{Fleet: scaling.Fleet{At: now}, Plan: scaling.Plan{At: now}}
	for i := range list.Items {
		va := &list.Items[i]
		value, ok := statusValue(va)
		if !ok {
			continue
		}
		record.Fleet.Variants = append(record.Fleet.Variants, scaling.Variant{
			Key: value.Variant, ID: variantID(va), Target: value.Target, Accelerator: value.Accelerator,
			Model:    scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID},
			Replicas: scaling.ReplicaCounts{Observed: value.Observed, Current: value.Current},
			Paused:   va.Annotations[v1alpha1.AnnotationPaused] == "true",
		})
		// A status holds no steps; without them the target is Current.
		record.Plan.Decisions = append(record.Plan.Decisions, scaling.Decision{Variant: value.Variant, Current: value.Desired})
	}
	names := s.readAs(ctx, scaling.ByKey(record.Fleet.Variants))
	for i := range record.Fleet.Variants {
		v := &record.Fleet.Variants[i]
		v.ReadAs, v.ByValue = names[v.Key].ReadAs, names[v.Key].ByValue
	}
	return record, nil
}

// variantID returns the variant ID of an object that has one, in its spec or
// since an earlier cycle in its status; else "".
func variantID(va *v1alpha1.VariantAutoscaling) string {
	if current := va.Status.CurrentAlloc; va.Spec.VariantID == "" && current != nil {
		return current.VariantID
	}
	return va.Spec.VariantID
}

func statusValue(va *v1alpha1.VariantAutoscaling) (external.Value, bool) {
	decided := va.Status.DesiredOptimizedAlloc
	if decided == nil || decided.LastUpdate == nil || decided.LastUpdate.UpdateTime == nil ||
		!va.DeletionTimestamp.IsZero() || suppressed(va) {
		return external.Value{}, false
	}
	value := external.Value{
		Variant:     scaling.VariantKey{Namespace: va.Namespace, Name: va.Name},
		Target:      scaling.TargetRef(va.Target()),
		Accelerator: decided.Accelerator, Desired: int(decided.NumReplicas), At: decided.LastUpdate.UpdateTime.Time,
	}
	if current := va.Status.CurrentAlloc; current != nil {
		value.Current, value.Observed = int(current.NumReplicas), true
	}
	return value, true
}

// suppressed reports whether another object scales the target of va. Then va publishes
// nothing, whatever its last decision was.
func suppressed(va *v1alpha1.VariantAutoscaling) bool {
	c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionDeploymentTargetConflict))
	return c != nil && c.Reason == string(v1alpha1.ReasonSuppressedDueToConflict)
}

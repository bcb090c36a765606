package actuator

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// StatusValues answers the External Metrics of a process that does not lead, or
// has not decided yet, from what the status of each VariantAutoscaling says.
type StatusValues struct {
	reader client.Reader
}

var _ external.Fallback = (*StatusValues)(nil)

// NewStatusValues returns StatusValues that read from reader, a cache.
func NewStatusValues(reader client.Reader) *StatusValues { return &StatusValues{reader: reader} }

// Values returns the last decisions for the variants of a namespace. Those that
// nothing was decided on are left out.
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
	return values, nil
}

func statusValue(va *v1alpha1.VariantAutoscaling) (external.Value, bool) {
	decided := va.Status.DesiredOptimizedAlloc
	if decided == nil || decided.LastUpdate == nil || decided.LastUpdate.UpdateTime == nil {
		return external.Value{}, false
	}
	value := external.Value{
		Variant:     scaling.VariantKey{Namespace: va.Namespace, Name: va.Name},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: va.Name},
		Accelerator: decided.Accelerator, Desired: int(decided.NumReplicas), At: decided.LastUpdate.UpdateTime.Time,
	}
	if ref := va.Spec.ScaleTargetRef; ref != nil {
		value.Target = scaling.TargetRef{APIVersion: cmp.Or(ref.APIVersion, "apps/v1"), Kind: ref.Kind, Name: ref.Name}
	}
	if current := va.Status.CurrentAlloc; current != nil {
		value.Current, value.Observed = int(current.NumReplicas), true
	}
	return value, true
}

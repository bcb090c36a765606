package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// ObjectClient reads VariantAutoscalings and writes their status to the API server. For one that
// stands for an annotated scaler it hands the status to Decisions, and writes nothing to the
// scaler.
type ObjectClient struct {
	reader    Reader
	status    client.StatusClient
	decisions Decisions
}

// Reader reads the VariantAutoscalings that are served, and lists those that are not.
type Reader interface {
	client.Reader
	// LeftAlone returns the VariantAutoscalings of excluded namespaces.
	LeftAlone(ctx context.Context) ([]v1alpha1.VariantAutoscaling, error)
}

// Decisions keeps the decisions for variants without a VariantAutoscaling.
type Decisions interface {
	// Write keeps the status of the variant that va stands for.
	Write(va *v1alpha1.VariantAutoscaling)
	// Keep forgets all variants but those in alive.
	Keep(alive []client.ObjectKey)
}

var _ Objects = (*ObjectClient)(nil)

// NewObjectClient returns an ObjectClient that reads from reader, a cache, and writes by status.
func NewObjectClient(reader Reader, status client.StatusClient, decisions Decisions) *ObjectClient {
	return &ObjectClient{reader: reader, status: status, decisions: decisions}
}

// Variant returns a copy of the cached object, or NotFound.
func (o *ObjectClient) Variant(ctx context.Context, key client.ObjectKey) (*v1alpha1.VariantAutoscaling, error) {
	va := &v1alpha1.VariantAutoscaling{}
	if err := o.reader.Get(ctx, key, va); err != nil {
		return nil, err
	}
	return va, nil
}

// Variants returns the keys of all cached objects.
func (o *ObjectClient) Variants(ctx context.Context) ([]client.ObjectKey, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := o.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing VariantAutoscalings: %w", err)
	}
	keys := make([]client.ObjectKey, len(list.Items))
	for i := range list.Items {
		keys[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	o.decisions.Keep(keys)
	return keys, nil
}

// LeftAlone returns the cached objects of excluded namespaces.
func (o *ObjectClient) LeftAlone(ctx context.Context) ([]v1alpha1.VariantAutoscaling, error) {
	return o.reader.LeftAlone(ctx)
}

// WriteStatus replaces the status subresource of va, and returns Conflict if the object no longer
// has the resource version of va. For a variant that stands for a scaler it hands the status to
// Decisions.
func (o *ObjectClient) WriteStatus(ctx context.Context, va *v1alpha1.VariantAutoscaling) error {
	if va.FromScaler() {
		o.decisions.Write(va)
		return nil
	}
	return o.status.Status().Update(ctx, va)
}

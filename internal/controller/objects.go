package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// ObjectClient reads VariantAutoscalings from a manager's cache and writes their
// status to the API server.
type ObjectClient struct {
	client client.Client
}

var _ Objects = (*ObjectClient)(nil)

// NewObjectClient returns an ObjectClient that uses c, the client of a manager.
func NewObjectClient(c client.Client) *ObjectClient { return &ObjectClient{client: c} }

// Variant returns a copy of the cached object, or NotFound.
func (o *ObjectClient) Variant(ctx context.Context, key client.ObjectKey) (*v1alpha1.VariantAutoscaling, error) {
	va := &v1alpha1.VariantAutoscaling{}
	if err := o.client.Get(ctx, key, va); err != nil {
		return nil, err
	}
	return va, nil
}

// Variants returns the keys of all cached objects.
func (o *ObjectClient) Variants(ctx context.Context) ([]client.ObjectKey, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := o.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing VariantAutoscalings: %w", err)
	}
	keys := make([]client.ObjectKey, len(list.Items))
	for i := range list.Items {
		keys[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	return keys, nil
}

// WriteStatus replaces the status subresource of va if the object still has va's
// resource version, else it returns Conflict.
func (o *ObjectClient) WriteStatus(ctx context.Context, va *v1alpha1.VariantAutoscaling) error {
	return o.client.Status().Update(ctx, va)
}

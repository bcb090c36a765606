package discovery

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// Served reads what there is but for the VariantAutoscalings of namespaces that
// the annotation AnnotationExclude leaves alone. Those are read one by one as if
// they were served, and are in no list.
type Served struct {
	client.Reader // the cache of a manager built with CacheOptions
}

// List lists objects.
func (s Served) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := s.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	variants, ok := list.(*v1alpha1.VariantAutoscalingList)
	if !ok || len(variants.Items) == 0 {
		return nil
	}
	alone, err := s.alone(ctx)
	if err != nil {
		return err
	}
	if len(alone) > 0 {
		variants.Items = slices.DeleteFunc(variants.Items, func(va v1alpha1.VariantAutoscaling) bool { return alone[va.Namespace] })
	}
	return nil
}

// alone returns the namespaces that are left alone.
func (s Served) alone(ctx context.Context) (map[string]bool, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(namespaces().GroupVersionKind())
	if err := s.Reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing namespaces, some of which may be left alone: %w", err)
	}
	out := map[string]bool{}
	for i := range list.Items {
		if excluded(&list.Items[i]) {
			out[list.Items[i].Name] = true
		}
	}
	return out, nil
}

// excluded reports whether a namespace is left alone.
func excluded(namespace client.Object) bool {
	return namespace.GetAnnotations()[v1alpha1.AnnotationExclude] == "true"
}

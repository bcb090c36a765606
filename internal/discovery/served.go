package discovery

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
)

// Served reads all objects except the VariantAutoscalings of excluded namespaces
// (AnnotationExclude). Get still returns those, and List leaves them out.
//
// Served adds each annotated scaler as the VariantAutoscaling that it stands for
// (scalers.Annotated), after the existing ones.
type Served struct {
	client.Reader // the cache of a manager built with CacheOptions
	// Annotated reads the annotated scalers, nil for none.
	Annotated *scalers.Annotated
	// Everywhere makes List return those of excluded namespaces, too.
	Everywhere bool
}

// List lists objects.
func (s Served) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := s.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	variants, ok := list.(*v1alpha1.VariantAutoscalingList)
	if !ok {
		return nil
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	annotated, err := s.Annotated.List(ctx, o.Namespace, variants.Items)
	if err != nil {
		return err
	}
	variants.Items = append(variants.Items, annotated...)
	if len(variants.Items) == 0 || s.Everywhere {
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

// Get reads an object.
func (s Served) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := s.Reader.Get(ctx, key, object, opts...)
	into, ok := object.(*v1alpha1.VariantAutoscaling)
	if !ok || !apierrors.IsNotFound(err) || s.Annotated == nil {
		return err
	}
	var others v1alpha1.VariantAutoscalingList
	if err := s.Reader.List(ctx, &others, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	annotated, failed := s.Annotated.List(ctx, key.Namespace, others.Items)
	if failed != nil {
		return failed
	}
	at := slices.IndexFunc(annotated, func(va v1alpha1.VariantAutoscaling) bool { return va.Name == key.Name })
	if at < 0 {
		return err
	}
	annotated[at].DeepCopyInto(into)
	return nil
}

// LeftAlone returns the VariantAutoscalings of excluded namespaces, in a slice that the caller may
// modify. It returns no annotated scalers.
func (s Served) LeftAlone(ctx context.Context) ([]v1alpha1.VariantAutoscaling, error) {
	alone, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	var out []v1alpha1.VariantAutoscaling
	for _, namespace := range slices.Sorted(maps.Keys(alone)) {
		var list v1alpha1.VariantAutoscalingList
		if err := s.Reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing VariantAutoscalings of namespace %s, which is left alone: %w", namespace, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// alone returns the excluded namespaces.
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

// excluded reports whether a namespace is excluded.
func excluded(namespace client.Object) bool {
	return namespace.GetAnnotations()[v1alpha1.AnnotationExclude] == "true"
}

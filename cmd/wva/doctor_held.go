package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
)

// held has the listed objects of a cluster and the manifests. The packages that read the cache of a
// manager can read it in the same way.
type held struct {
	scheme  *runtime.Scheme
	objects map[schema.GroupKind][]client.Object
	// absent are the kinds that the cluster does not have, and unread those that could not be
	// listed.
	absent, unread map[schema.GroupKind]bool
}

var _ scalers.Watches = (*held)(nil)

func newHeld(scheme *runtime.Scheme) *held {
	return &held{scheme: scheme, objects: map[schema.GroupKind][]client.Object{}, absent: map[schema.GroupKind]bool{}, unread: map[schema.GroupKind]bool{}}
}

// kindOf returns the group and kind of an object or of the objects of a list.
func (h *held) kindOf(object runtime.Object) (schema.GroupKind, error) {
	kind, err := apiutil.GVKForObject(object, h.scheme)
	if err != nil {
		return schema.GroupKind{}, err
	}
	// By its methods, an Unstructured is both an object and a list.
	if _, list := object.(client.ObjectList); list {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	}
	return kind.GroupKind(), nil
}

// put adds the objects of a list.
func (h *held) put(list client.ObjectList) error {
	kind, err := h.kindOf(list)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("reading a list of %s: %w", kind, err)
	}
	for _, item := range items {
		if object, ok := item.(client.Object); ok {
			h.objects[kind] = append(h.objects[kind], object)
		}
	}
	return nil
}

// replace puts an object in place of the one with its name, and returns that one; there is false
// where there was none.
func (h *held) replace(object client.Object) (before client.Object, there bool, err error) {
	kind, err := h.kindOf(object)
	if err != nil {
		return nil, false, err
	}
	for i, is := range h.objects[kind] {
		if is.GetNamespace() == object.GetNamespace() && is.GetName() == object.GetName() {
			h.objects[kind][i] = object
			return is, true, nil
		}
	}
	h.objects[kind] = append(h.objects[kind], object)
	delete(h.absent, kind)
	return nil, false, nil
}

// List lists the held objects. It applies only the namespace of the options.
func (h *held) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	kind, err := h.kindOf(list)
	if err != nil {
		return err
	}
	var items []runtime.Object
	for _, object := range h.objects[kind] {
		if o.Namespace == "" || object.GetNamespace() == o.Namespace {
			items = append(items, object)
		}
	}
	return meta.SetList(list, items)
}

// Get copies the object of key to into.
func (h *held) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := h.kindOf(into)
	if err != nil {
		return err
	}
	for _, object := range h.objects[kind] {
		if client.ObjectKeyFromObject(object) == key && reflect.TypeOf(object) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
}

// GetInformer returns an informer whose HasSynced says whether the kind could be listed.
func (h *held) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	kind, err := h.kindOf(object)
	if err != nil {
		return nil, err
	}
	if _, untyped := object.(*unstructured.Unstructured); untyped && (h.absent[kind] || h.objects[kind] == nil && !h.unread[kind]) {
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return listed{read: !h.unread[kind]}, nil
}

// listed is an informer that implements only HasSynced.
type listed struct {
	cache.Informer

	read bool
}

// HasSynced reports whether the kind could be listed.
func (l listed) HasSynced() bool { return l.read }

// metadataOf returns an empty list of the metadata of a kind.
func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// untypedOf returns an empty list of a kind.
func untypedOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

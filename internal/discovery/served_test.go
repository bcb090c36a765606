package discovery

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// namespaced is a cache with one VariantAutoscaling in each of its namespaces,
// which have the annotation that their name maps to.
type namespaced struct {
	client.Reader // what is not needed here panics
	annotations   map[string]string
	err           error // of listing namespaces
}

func (n namespaced) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := list.(type) {
	case *v1alpha1.VariantAutoscalingList:
		for _, name := range []string{"a", "b", "c", "d"} {
			if o.Namespace != "" && o.Namespace != name {
				continue
			}
			list.Items = append(list.Items, v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "v"}})
		}
	case *metav1.PartialObjectMetadataList:
		for name, value := range n.annotations {
			meta := metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationExclude: value, "other": "x"}}
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: meta})
		}
		return n.err
	}
	return nil
}

func TestExcludedNamespacesAreLeftAlone(t *testing.T) {
	reader := Served{Reader: namespaced{annotations: map[string]string{"a": "true", "b": "false", "c": "", "elsewhere": "true"}}}
	var list v1alpha1.VariantAutoscalingList
	if err := reader.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list.Items {
		got = append(got, list.Items[i].Namespace)
	}
	if diff := cmp.Diff([]string{"b", "c", "d"}, got); diff != "" {
		t.Errorf("namespaces served (-want +got):\n%s", diff)
	}
}

func TestTheObjectsOfExcludedNamespacesAreListedApart(t *testing.T) {
	reader := Served{Reader: namespaced{annotations: map[string]string{"a": "true", "b": "false"}}}
	got, err := reader.LeftAlone(t.Context())
	if err != nil || len(got) != 1 || got[0].Namespace != "a" {
		t.Errorf("got %v, %v, want that of namespace a", got, err)
	}
	unread := errors.New("no cache")
	if _, err := (Served{Reader: namespaced{err: unread}}).LeftAlone(t.Context()); !errors.Is(err, unread) {
		t.Errorf("got %v, want %v", err, unread)
	}
}

func TestNoNamespaceIsServedWhileExclusionIsUnknown(t *testing.T) {
	unread := errors.New("no cache")
	if err := (Served{Reader: namespaced{err: unread}}).List(t.Context(), &v1alpha1.VariantAutoscalingList{}); !errors.Is(err, unread) {
		t.Errorf("got %v, want %v", err, unread)
	}
}

func TestOfANamespaceOnlyItsExclusionIsKept(t *testing.T) {
	in := namespaces()
	in.ObjectMeta = metav1.ObjectMeta{
		Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"l": "x"},
		Annotations: map[string]string{v1alpha1.AnnotationExclude: "true", "big": "x"},
	}
	got, err := stripNamespace(in)
	if err != nil {
		t.Fatal(err)
	}
	want := namespaces()
	want.ObjectMeta = metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Annotations: map[string]string{v1alpha1.AnnotationExclude: "true"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if by := (Needs{Namespace: "n"}).namespace(); by.Field == nil || !by.Field.Matches(fields.Set{"metadata.name": "n"}) || by.Field.Matches(fields.Set{"metadata.name": "m"}) {
		t.Errorf("namespaces are restricted to %v, want n alone", by.Field)
	}
	if got, err := stripNamespace("a tombstone"); got != "a tombstone" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

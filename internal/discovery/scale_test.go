package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestATargetOfTheClusterIsNotRead: the manager may scale any kind, the author of a
// VariantAutoscaling what is in a namespace.
func TestATargetOfTheClusterIsNotRead(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"shared","namespace":"team"},"spec":{"replicas":40}}`)
	}))
	defer server.Close()
	group := schema.GroupVersion{Group: "platform.example", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{group})
	mapper.Add(group.WithKind("NodePool"), meta.RESTScopeRoot)
	mapper.Add(group.WithKind("Pool"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: runtime.NewScheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	scales := NewScaleClient(c)
	target := scaling.TargetRef{APIVersion: group.String(), Kind: "NodePool", Name: "shared"}
	_, err = scales.Scale(t.Context(), "team", target)
	if !errors.Is(err, scaling.ErrClusterScoped) || len(asked) > 0 {
		t.Errorf("the error is %v after %q, want ErrClusterScoped and no request", err, asked)
	}
	const want = `NodePool "shared" of platform.example/v1 cannot be a target: it belongs to no namespace; a VariantAutoscaling scales targets of its own namespace only`
	if got := answerOf(nil, err, target, "team"); got.missing != want || !got.gone {
		t.Errorf("the owner is told %q, want %q", got.missing, want)
	}
	target.Kind = "Pool"
	if scale, err := scales.Scale(t.Context(), "team", target); err != nil || scale.Spec.Replicas != 40 {
		t.Errorf("a target of a namespace has the scale %v, %v; want 40 replicas", scale, err)
	}
}

// TestATargetThatMayNotBeReadNamesTheGroupAndTheSetting: the roles that are shipped are
// for some API groups.
func TestATargetThatMayNotBeReadNamesTheGroupAndTheSetting(t *testing.T) {
	for _, tt := range []struct {
		resource schema.GroupResource
		target   scaling.TargetRef
		want     string
	}{
		{
			schema.GroupResource{Group: "platform.example", Resource: "pools/scale"},
			scaling.TargetRef{APIVersion: "platform.example/v1", Kind: "Pool", Name: "p"},
			`Pool "p" in namespace "team" cannot be read: the manager may not get pools/scale of API group "platform.example". ` +
				"Add the group to rbac.targetGroups of the chart, or bind a ClusterRole that allows get of */scale in that group to its account",
		},
		{
			schema.GroupResource{Group: "apps", Resource: "replicasets/scale"},
			scaling.TargetRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "p"},
			`ReplicaSet "p" in namespace "team" cannot be read: the manager may not get replicasets/scale of API group "apps". ` +
				"Bind the ClusterRole workload-variant-autoscaler-manager-role to its account",
		},
	} {
		said := fmt.Errorf(`User "manager" cannot get resource "%s" in API group "%s" in the namespace "team"`, tt.resource.Resource, tt.resource.Group)
		got := answerOf(nil, fmt.Errorf("reading the scale: %w", apierrors.NewForbidden(tt.resource, "p", said)), tt.target, "team")
		if got.missing != tt.want || got.gone {
			t.Errorf("the owner of a target of %s is told %q, gone %t; want %q, and that it may be there", tt.resource.Group, got.missing, got.gone, tt.want)
		}
	}
}

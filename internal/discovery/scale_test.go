package discovery

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestATargetOfTheClusterIsToldToItsOwner(t *testing.T) {
	target := scaling.TargetRef{APIVersion: "platform.example/v1", Kind: "NodePool", Name: "shared"}
	const want = `NodePool "shared" of platform.example/v1 cannot be a target: it belongs to no namespace; a VariantAutoscaling scales targets of its own namespace only`
	err := fmt.Errorf("reading the scale: %w", scaling.ErrClusterScoped)
	if got := answerOf(nil, err, target, "team"); got.missing != want || !got.gone {
		t.Errorf("the owner is told %q, want %q", got.missing, want)
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

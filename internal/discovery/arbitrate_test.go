package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// claimant returns an object of a namespace, created at a number of seconds,
// that scales a Deployment.
func claimant(namespace, name, deployment string, created int) v1alpha1.VariantAutoscaling {
	va := variant(name, targeting("Deployment", deployment))
	va.Namespace, va.CreationTimestamp = namespace, metav1.NewTime(at(created))
	return *va
}

func TestOldestScalesTheTarget(t *testing.T) {
	deleted := claimant("ns", "a", "d", 0)
	deleted.DeletionTimestamp = &metav1.Time{Time: at(5)}
	statefulSet := claimant("ns", "b", "d", 2)
	statefulSet.Spec.ScaleTargetRef.Kind = "StatefulSet"
	otherVersion := claimant("ns", "b", "d", 2)
	otherVersion.Spec.ScaleTargetRef.APIVersion = "apps/v1beta1"
	implicit := *variant("d")
	implicit.CreationTimestamp = metav1.NewTime(at(9))

	type keys = map[string][]string
	tests := map[string]struct {
		vas        []v1alpha1.VariantAutoscaling
		winners    []string
		contenders keys
	}{
		"none": {nil, []string{}, keys{}},
		"golden SC-conflict-047: same target name, other namespace": {
			[]v1alpha1.VariantAutoscaling{claimant("n1", "a", "d1", 5), claimant("n2", "b", "d1", 1)},
			[]string{"n1/a", "n2/b"},
			keys{},
		},
		"golden SC-conflict-049: two conflicts": {
			[]v1alpha1.VariantAutoscaling{
				claimant("n1", "a", "d1", 5), claimant("n1", "b", "d1", 1), claimant("n1", "c", "d2", 9),
				claimant("n1", "d", "d2", 8), claimant("n1", "e", "d3", 9),
			},
			[]string{"n1/b", "n1/d", "n1/e"},
			keys{
				"n1/a": {"n1/b", "n1/a"}, "n1/b": {"n1/b", "n1/a"},
				"n1/c": {"n1/d", "n1/c"}, "n1/d": {"n1/d", "n1/c"},
			},
		},
		"ties by name": {
			[]v1alpha1.VariantAutoscaling{claimant("ns", "c", "d", 1), claimant("ns", "a", "d", 1), claimant("ns", "b", "d", 1)},
			[]string{"ns/a"},
			keys{"ns/a": {"ns/a", "ns/b", "ns/c"}, "ns/b": {"ns/a", "ns/b", "ns/c"}, "ns/c": {"ns/a", "ns/b", "ns/c"}},
		},
		"the default target conflicts too": {
			[]v1alpha1.VariantAutoscaling{implicit, claimant("ns", "x", "d", 1)},
			[]string{"ns/x"},
			keys{"ns/d": {"ns/x", "ns/d"}, "ns/x": {"ns/x", "ns/d"}},
		},
		"another version of the kind is the same target": {
			[]v1alpha1.VariantAutoscaling{claimant("ns", "a", "d", 1), otherVersion},
			[]string{"ns/a"},
			keys{"ns/a": {"ns/a", "ns/b"}, "ns/b": {"ns/a", "ns/b"}},
		},
		"another kind is not":             {[]v1alpha1.VariantAutoscaling{claimant("ns", "a", "d", 1), statefulSet}, []string{"ns/a", "ns/b"}, keys{}},
		"who is being deleted has no say": {[]v1alpha1.VariantAutoscaling{deleted, claimant("ns", "b", "d", 2)}, []string{"ns/b"}, keys{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			won, all := arbitrate(tt.vas)
			winners := []string{}
			for _, va := range won {
				winners = append(winners, keyOf(va).String())
			}
			if diff := cmp.Diff(winners, tt.winners); diff != "" {
				t.Errorf("winners, -got +want:\n%s", diff)
			}
			contenders := keys{}
			for key, rivals := range all {
				contenders[key.String()] = names(rivals)
			}
			if diff := cmp.Diff(contenders, tt.contenders); diff != "" {
				t.Errorf("contenders, -got +want:\n%s", diff)
			}
		})
	}
}

func TestConflictsAreListedByWhoScales(t *testing.T) {
	winners, contenders := arbitrate([]v1alpha1.VariantAutoscaling{
		claimant("n1", "z", "d1", 5), claimant("n1", "y", "d1", 1), claimant("n1", "c", "d2", 9),
		claimant("n1", "d", "d2", 8), claimant("n1", "alone", "d3", 9),
	})
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "n1", Name: name} }
	deployment := func(name string) scaling.TargetRef {
		return scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
	}
	want := []scaling.Conflict{
		{Target: deployment("d2"), Contenders: []scaling.VariantKey{key("d"), key("c")}},
		{Target: deployment("d1"), Contenders: []scaling.VariantKey{key("y"), key("z")}},
	}
	if diff := cmp.Diff(want, conflictsOf(winners, contenders)); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

func names(keys []scaling.VariantKey) []string {
	var out []string
	for _, key := range keys {
		out = append(out, key.String())
	}
	return out
}

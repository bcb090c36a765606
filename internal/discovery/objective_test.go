package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestTheClassesOfAModelAreThoseThatItsVariantsName(t *testing.T) {
	serving := func(name, model, class string) *v1alpha1.VariantAutoscaling {
		return variant(name, func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.ModelID = model
			if class != "" {
				va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: "classes", Key: class}
			}
		})
	}
	cache := &fakeCache{objects: []client.Object{
		serving("c", "both", "gold"), serving("a", "both", ""), serving("b", "both", "free"), serving("d", "neither", ""),
	}}
	cluster := New(cache, fakeScales{})
	model := func(namespace, id string) scaling.ModelKey { return scaling.ModelKey{Namespace: namespace, ID: id} }
	if got := cluster.ClassRefs(model("ns", "both")); got != nil {
		t.Errorf("%v is known before any object was read", got)
	}
	look := func() {
		t.Helper()
		if _, err := cluster.Fleet(t.Context(), at(0)); err != nil {
			t.Fatal(err)
		}
	}
	look()
	want := map[scaling.ModelKey][]config.ClassRef{
		model("ns", "both"): {{Name: "classes", Key: "free"}, {Name: "classes", Key: "gold"}}, model("ns", "neither"): nil,
		model("ns", "unknown"): nil, model("other", "both"): nil,
	}
	for key, want := range want {
		if diff := cmp.Diff(want, cluster.ClassRefs(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	cache.objects = cache.objects[1:2]
	look()
	if got := cluster.ClassRefs(model("ns", "both")); got != nil {
		t.Errorf("%v outlives the variants that named it", got)
	}
}

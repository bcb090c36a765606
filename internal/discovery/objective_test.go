package discovery

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAModelHasAnObjectiveWhileOneOfItsVariantsNamesAServiceClass(t *testing.T) {
	serving := func(name, model string, class *v1alpha1.SLOClassRef) *v1alpha1.VariantAutoscaling {
		return variant(name, func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID, va.Spec.SLOClassRef = model, class })
	}
	class := &v1alpha1.SLOClassRef{Name: "premium", Key: "k"}
	cache := &fakeCache{objects: []client.Object{
		serving("a", "both", nil), serving("b", "both", class), serving("c", "neither", nil),
	}}
	cluster := New(cache, fakeScales{})
	key := func(id string) scaling.ModelKey { return scaling.ModelKey{Namespace: "ns", ID: id} }
	if cluster.HasObjective(key("both")) {
		t.Error("an objective is known before any object was read")
	}
	look := func() {
		t.Helper()
		if _, err := cluster.Fleet(t.Context(), at(0)); err != nil {
			t.Fatal(err)
		}
	}
	look()
	for id, want := range map[string]bool{"both": true, "neither": false, "unknown": false} {
		if got := cluster.HasObjective(key(id)); got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
	if cluster.HasObjective(scaling.ModelKey{Namespace: "other", ID: "both"}) {
		t.Error("the model of another namespace shares the objective")
	}
	cache.objects = cache.objects[:1]
	look()
	if cluster.HasObjective(key("both")) {
		t.Error("the objective outlives its variant")
	}
}

package discovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// aged returns a VariantAutoscaling of a namespace that is so many minutes old.
func aged(namespace, name string, minutes int, change ...func(*v1alpha1.VariantAutoscaling)) client.Object {
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 3, 1, 12, -minutes, 0, 0, time.UTC)),
		},
		Spec: v1alpha1.VariantAutoscalingSpec{ModelID: "m"},
	}
	for _, f := range change {
		f(va)
	}
	return va
}

func TestObjectsBeyondTheBudgetOfTheirNamespaceAreLeftOut(t *testing.T) {
	batch := func(n int32) func(*v1alpha1.VariantAutoscaling) {
		return func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.VariantProfile = &v1alpha1.VariantProfile{MaxBatchSize: new(n)}
		}
	}
	deleted := func(va *v1alpha1.VariantAutoscaling) { va.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	told := map[budget.What]map[string]int{}
	left := budget.NewLeftOut(func(w budget.What, counts map[string]int) { told[w] = counts })
	cache := &fakeCache{objects: []client.Object{
		aged("evil", "newest", 1), aged("evil", "oldest", 9), aged("evil", "gone", 99, deleted),
		aged("evil", "wide", 8, func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = strings.Repeat("m", 5000) }),
		aged("evil", "slow", 7, batch(1<<30)), aged("evil", "small", 6, batch(16)), aged("evil", "young", 5),
		aged("good", "a", 2), aged("good", "b", 1, batch(256)),
	}}
	c := New(cache, fakeScales{})
	c.Limits, c.Left = budget.Limits{Variants: 3, ObjectBytes: 4000, BatchSizes: 1024}, left
	fleet, err := c.Fleet(t.Context(), at(0))
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, v := range fleet.Variants {
		served = append(served, v.Key.String())
	}
	if diff := cmp.Diff([]string{"evil/oldest", "evil/small", "evil/young", "good/a", "good/b"}, served); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	for name, want := range map[string]budget.What{"oldest": "", "wide": budget.ObjectBytes, "slow": budget.BatchSizes, "newest": budget.Variants} {
		if got, _ := c.LeftOut(scaling.VariantKey{Namespace: "evil", Name: name}); got != want {
			t.Errorf("%s: left out for %q, want %q", name, got, want)
		}
	}
	want := map[budget.What]map[string]int{budget.Variants: {"evil": 1}, budget.ObjectBytes: {"evil": 1}, budget.BatchSizes: {"evil": 1}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	cache.objects = cache.objects[len(cache.objects)-2:]
	if _, err := c.Fleet(t.Context(), at(0)); err != nil || len(left.Of("evil")) != 0 {
		t.Errorf("with the objects gone %v are left out (%v), want none", left.Of("evil"), err)
	}
}

// TestAnObjectThatIsLeftOutClaimsNoTarget: else it would keep from its target one that
// is served.
func TestAnObjectThatIsLeftOutClaimsNoTarget(t *testing.T) {
	same := func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: "d"}
	}
	wide := func(va *v1alpha1.VariantAutoscaling) {
		same(va)
		va.Annotations = map[string]string{"a": strings.Repeat("x", 5000)}
	}
	c := New(&fakeCache{objects: []client.Object{aged("n", "old", 9, wide), aged("n", "new", 1, same)}}, fakeScales{})
	c.Limits = budget.Limits{ObjectBytes: 4000}
	fleet, err := c.Fleet(t.Context(), at(0))
	if err != nil || len(fleet.Variants) != 1 || fleet.Variants[0].Key.Name != "new" || len(fleet.Conflicts) != 0 {
		t.Errorf("got %+v, conflicts %v, %v; want that new scales the target alone", fleet.Variants, fleet.Conflicts, err)
	}
}

func TestAThousandVariantsOfOneNamespaceAreServed(t *testing.T) {
	var objects []client.Object
	for i := range 1000 {
		objects = append(objects, aged("n", fmt.Sprint("v", i), i, func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.VariantProfile = &v1alpha1.VariantProfile{MaxBatchSize: new(int32(512))}
			va.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 4096)}
		}))
	}
	fleet, err := New(&fakeCache{objects: objects}, fakeScales{}).Fleet(t.Context(), at(0))
	if err != nil || len(fleet.Variants) != 1000 {
		t.Errorf("%d of 1,000 ordinary variants are served (%v), want all", len(fleet.Variants), err)
	}
}

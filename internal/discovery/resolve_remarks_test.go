package discovery

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

const (
	suggested = `"level"=0 "msg"="the name differs from the one that the variantID suggests" "namespace"="ns" "variant"=`
	withOwner = `"level"=0 "msg"="an older version made the Deployment owner of this object, which is deleted with it; wva migrate undoes that" "namespace"="ns" "variant"=`
)

// TestRemarksAreLoggedOnceForEachObject plays a few cycles.
func TestRemarksAreLoggedOnceForEachObject(t *testing.T) {
	called := func(id string, uid types.UID) func(*v1alpha1.VariantAutoscaling) {
		return func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantID, va.UID = id, uid }
	}
	kept := func(va *v1alpha1.VariantAutoscaling) {
		va.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", Controller: new(true)}}
	}
	cache := &fakeCache{}
	cluster := New(cache, fakeScales{})
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	for _, cycle := range []struct {
		why     string
		objects []client.Object
		want    []string
	}{
		{"first", []client.Object{variant("a", called("m-A100-1", "1")), variant("m-a100-1", called("m-A100-1", "2")), variant("c")}, []string{suggested + `"a" "suggestion"="m-a100-1"`}},
		{"again", []client.Object{variant("a", called("m-A100-1", "1"))}, nil},
		{"another variantID", []client.Object{variant("a", called("m-H100-1", "1"))}, []string{suggested + `"a" "suggestion"="m-h100-1"`}},
		{"an owner", []client.Object{variant("a", called("m-H100-1", "1"), kept)}, []string{withOwner + `"a" "owner"="d"`}},
		{"no owner", []client.Object{variant("a", called("m-H100-1", "1"))}, nil},
		{"made again", []client.Object{variant("a", called("m-H100-1", "9"))}, []string{suggested + `"a" "suggestion"="m-h100-1"`}},
		{"gone", nil, nil},
	} {
		cache.objects, lines = cycle.objects, nil
		if _, err := cluster.Fleet(logr.NewContext(t.Context(), log), at(0)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lines, cycle.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", cycle.why, diff)
		}
	}
	if len(cluster.remarks.said) != 0 {
		t.Errorf("remembers objects that are gone: %v", cluster.remarks.said)
	}
}

// TestRemarksWaitForALogger holds that what was not logged counts as not said.
func TestRemarksWaitForALogger(t *testing.T) {
	cache := &fakeCache{objects: []client.Object{variant("a", func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantID = "m-A100-1" })}}
	cluster := New(cache, fakeScales{})
	lines := 0
	for _, ctx := range []struct {
		logging bool
		want    int
	}{{false, 0}, {true, 1}, {true, 1}} {
		c := t.Context()
		if ctx.logging {
			c = logr.NewContext(c, funcr.New(func(string, string) { lines++ }, funcr.Options{}))
		}
		if _, err := cluster.Fleet(c, at(0)); err != nil {
			t.Fatal(err)
		}
		if lines != ctx.want {
			t.Errorf("got %d lines, want %d", lines, ctx.want)
		}
	}
}

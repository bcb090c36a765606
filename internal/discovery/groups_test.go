package discovery

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// groupsOf is a LeaderWorkerSet of two groups whose template says so many pods of two accelerators.
func groupsOf(t *testing.T, size int) (objects, *unstructured.Unstructured) {
	t.Helper()
	container := map[string]any{"name": "vllm", "resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": "2"}}}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": kindLeaderWorkerSet,
		"metadata": map[string]any{"namespace": "ns", "name": "l", "uid": "l", "resourceVersion": "1"},
		"spec": map[string]any{"replicas": int64(2), "leaderWorkerTemplate": map[string]any{
			"size": int64(size), "workerTemplate": map[string]any{"spec": map[string]any{"containers": []any{container}}},
		}},
	}}
	va := variant("v", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: kindLeaderWorkerSet, Name: "l"}
	})
	out := objects{&fakeCache{objects: []client.Object{va, set}}, fakeScales{}}
	out.grouped(t, set)
	return out, set
}

// only reads a fleet of one variant.
func (o objects) only(t *testing.T) scaling.Variant {
	t.Helper()
	fleet := New(o, o.scales)
	fleet.By = scalers.New(o, clocktesting.NewFakePassiveClock(at(0)))
	got, err := fleet.Fleet(t.Context(), at(120))
	if err != nil || len(got.Variants) != 1 {
		t.Fatal(got.Variants, err)
	}
	return got.Variants[0]
}

// find returns an object of the fleet.
func find[T client.Object](t *testing.T, o objects, name string) T {
	t.Helper()
	for _, object := range o.objects {
		if found, ok := object.(T); ok && object.GetName() == name {
			return found
		}
	}
	var none T
	t.Fatalf("there is no %T %s", none, name)
	return none
}

// TestAGroupIsOneReplicaWithTheAcceleratorsOfItsPods: four pods of two.
func TestAGroupIsOneReplicaWithTheAcceleratorsOfItsPods(t *testing.T) {
	set, _ := groupsOf(t, 4)
	v := set.only(t)
	if v.GPUsPerReplica != 8 || v.GPUsRequested != 8 || v.Workers != 3 || v.GPUsPerWorker != 2 || v.GPUsShort != 0 || v.Replicas.Current != 2 || v.Replicas.Ready != 2 || v.Undecidable != "" {
		t.Errorf("got %+v, want two Ready groups of 8 accelerators", v)
	}
}

// TestAGroupWithoutOneOfItsPodsIsNotReady: neither where that is not Ready, nor where it is not there.
func TestAGroupWithoutOneOfItsPodsIsNotReady(t *testing.T) {
	for _, missing := range []bool{false, true} {
		set, _ := groupsOf(t, 4)
		find[*appsv1.StatefulSet](t, set, "l-1").Status.ReadyReplicas = 2
		if missing {
			set.objects = slices.DeleteFunc(set.objects, func(o client.Object) bool { return o.GetName() == "l-1-3" })
		}
		v := set.only(t)
		if v.Replicas.Current != 2 || v.Replicas.Ready != 1 || v.Replicas.Pending != 1 || v.Undecidable != "" {
			t.Errorf("missing %t: got %+v held by %q, want one of two groups Ready", missing, v.Replicas, v.Undecidable)
		}
		if want := scaling.Accelerators(0); missing {
			if want = 2; v.GPUsShort != want {
				t.Errorf("got %d accelerators short, want those of one pod", v.GPUsShort)
			}
		}
	}
}

// TestGroupsOfAnotherSizeAreHeld: until the rollout has replaced them.
func TestGroupsOfAnotherSizeAreHeld(t *testing.T) {
	size := func(u *unstructured.Unstructured, n int64) {
		_ = unstructured.SetNestedField(u.Object, n, "spec", "leaderWorkerTemplate", "size")
		u.SetResourceVersion("2")
	}
	for _, tc := range []struct {
		name     string
		from, to int
		change   func(objects) // of the groups
		want     string
	}{
		{"none is replaced yet", 4, 8, func(objects) {}, "the group of pod l-0 has 4 pods and the template of LeaderWorkerSet l says 8"},
		{"to groups without workers", 4, 1, func(objects) {}, "the group of pod l-0 has 4 pods and the template of LeaderWorkerSet l says 1"},
		{"from groups without workers", 1, 4, func(objects) {}, "the group of pod l-0 has 1 pods and the template of LeaderWorkerSet l says 4"},
		{"one is replaced", 4, 8, func(o objects) { resize(t, o, "l-1", 8) }, "the group of pod l-0 has 4 pods"},
		{"all are replaced", 4, 8, func(o objects) { resize(t, o, "l-0", 8); resize(t, o, "l-1", 8) }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, u := groupsOf(t, tc.from)
			size(u, int64(tc.to))
			tc.change(set)
			if v := set.only(t); !strings.Contains(v.Undecidable, tc.want) || (v.Undecidable == "") != (tc.want == "") || v.Paused != (tc.want != "") {
				t.Errorf("held %t by %q, want %q", v.Paused, v.Undecidable, tc.want)
			}
		})
	}
}

// resize makes the workers of a leader as many as a group of a size has.
func resize(t *testing.T, o objects, leader string, size int) {
	t.Helper()
	workers := find[*appsv1.StatefulSet](t, o, leader)
	workers.Spec.Replicas, workers.Status.ReadyReplicas = new(int32(size-1)), int32(size-1)
}

// TestAGroupThatBeginsHasNoSizeYet: its leader is there before its workers.
func TestAGroupThatBeginsHasNoSizeYet(t *testing.T) {
	set, _ := groupsOf(t, 4)
	set.objects = slices.DeleteFunc(set.objects, func(o client.Object) bool {
		_, isSet := o.(*appsv1.StatefulSet)
		return isSet && o.GetName() == "l-1" || strings.HasPrefix(o.GetName(), "l-1-")
	})
	find[*corev1.Pod](t, set, "l-1").Status.Conditions = nil
	if v := set.only(t); v.Undecidable != "" || v.Replicas.Ready != 1 {
		t.Errorf("got %d Ready, held by %q; want one and nothing", v.Replicas.Ready, v.Undecidable)
	}
}

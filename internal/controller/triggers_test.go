package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// cached makes a cache of what can only list.
type cached struct {
	cache.Informers // what is not needed here panics
	listed
}

func TestOnlyWhatADecisionMayDependOnMatters(t *testing.T) {
	va := func(generation int64, status int32) *v1alpha1.VariantAutoscaling {
		return object(func(va *v1alpha1.VariantAutoscaling) {
			va.Generation, va.Status.CurrentAlloc = generation, &v1alpha1.CurrentAlloc{NumReplicas: status}
		})
	}
	deployment := func(generation int64, replicas, ready, updated int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Status:     appsv1.DeploymentStatus{Replicas: replicas, ReadyReplicas: ready, UpdatedReplicas: updated},
		}
	}
	statefulSet := func(generation int64, replicas, ready, updated int32) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Status:     appsv1.StatefulSetStatus{Replicas: replicas, ReadyReplicas: ready, UpdatedReplicas: updated},
		}
	}
	again := va(1, 1)
	again.UID = "another"
	tests := map[string]struct {
		before, after any
		want          bool
	}{
		"resync":                      {va(1, 1), va(1, 1), false},
		"status of a variant":         {va(1, 1), va(1, 2), false},
		"spec of a variant":           {va(1, 1), va(2, 1), true},
		"variant replaced":            {va(1, 1), again, true},
		"deployment resync":           {deployment(1, 2, 2, 2), deployment(1, 2, 2, 2), false},
		"deployment spec":             {deployment(1, 2, 2, 2), deployment(2, 2, 2, 2), true},
		"deployment replicas":         {deployment(1, 2, 2, 2), deployment(1, 3, 2, 2), true},
		"deployment readiness":        {deployment(1, 2, 1, 2), deployment(1, 2, 2, 2), true},
		"deployment other status":     {deployment(1, 2, 2, 1), deployment(1, 2, 2, 2), false},
		"stateful set spec":           {statefulSet(1, 2, 2, 2), statefulSet(2, 2, 2, 2), true},
		"stateful set replicas":       {statefulSet(1, 2, 2, 2), statefulSet(1, 3, 2, 2), true},
		"stateful set readiness":      {statefulSet(1, 2, 1, 2), statefulSet(1, 2, 2, 2), true},
		"stateful set other status":   {statefulSet(1, 2, 2, 1), statefulSet(1, 2, 2, 2), false},
		"something that nobody asked": {"a", "b", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matters(tt.before, tt.after); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTriggersNameWhatChanged(t *testing.T) {
	deployment := func(name string, generation int64) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Generation: generation}}
	}
	var got []string
	triggers := NewTriggers(cached{listed: listed{items: []v1alpha1.VariantAutoscaling{*object()}}}, func(reason string) { got = append(got, reason) })
	h := triggers.handler(t.Context())

	h.OnAdd(object(), true) // there at the start
	h.OnAdd(object(), false)
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: object()})
	h.OnUpdate(deployment("d", 1), deployment("d", 2))
	h.OnUpdate(deployment("d", 2), deployment("d", 2))
	h.OnUpdate(deployment("stranger", 1), deployment("stranger", 2))
	h.OnAdd(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d"}}, false)
	h.OnDelete(deployment("d", 2))

	want := []string{
		"VariantAutoscaling n/v created", "VariantAutoscaling n/v deleted", "Deployment n/d changed", "Deployment n/d deleted",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

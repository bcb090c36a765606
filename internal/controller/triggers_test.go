package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// cached turns a client that lists into a cache.
type cached struct {
	cache.Informers // other methods panic
	listed
}

// namespace returns the namespace n with a value of the annotation that excludes namespaces.
func namespace(excluded string) *metav1.PartialObjectMetadata {
	o := namespaces()
	o.Name, o.Annotations = "n", map[string]string{v1alpha1.AnnotationExclude: excluded}
	return o
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
	annotated := func(name, value string) *v1alpha1.VariantAutoscaling {
		o := va(1, 1)
		o.Annotations = map[string]string{name: value}
		return o
	}
	tests := map[string]struct {
		before, after any
		want          bool
	}{
		"resync":                       {va(1, 1), va(1, 1), false},
		"status of a variant":          {va(1, 1), va(1, 2), false},
		"spec of a variant":            {va(1, 1), va(2, 1), true},
		"variant paused":               {va(1, 1), annotated(v1alpha1.AnnotationPaused, "true"), true},
		"variant carried out by us":    {annotated(v1alpha1.AnnotationActuation, "zero"), annotated(v1alpha1.AnnotationActuation, "scale"), true},
		"another annotation":           {va(1, 1), annotated("kubectl.kubernetes.io/last-applied-configuration", "{}"), false},
		"variant replaced":             {va(1, 1), again, true},
		"deployment resync":            {deployment(1, 2, 2, 2), deployment(1, 2, 2, 2), false},
		"deployment spec":              {deployment(1, 2, 2, 2), deployment(2, 2, 2, 2), true},
		"deployment replicas":          {deployment(1, 2, 2, 2), deployment(1, 3, 2, 2), true},
		"deployment readiness":         {deployment(1, 2, 1, 2), deployment(1, 2, 2, 2), true},
		"deployment other status":      {deployment(1, 2, 2, 1), deployment(1, 2, 2, 2), false},
		"stateful set spec":            {statefulSet(1, 2, 2, 2), statefulSet(2, 2, 2, 2), true},
		"stateful set replicas":        {statefulSet(1, 2, 2, 2), statefulSet(1, 3, 2, 2), true},
		"stateful set readiness":       {statefulSet(1, 2, 1, 2), statefulSet(1, 2, 2, 2), true},
		"stateful set other status":    {statefulSet(1, 2, 2, 1), statefulSet(1, 2, 2, 2), false},
		"namespace excluded":           {namespace(""), namespace("true"), true},
		"namespace no longer so":       {namespace("true"), namespace("false"), true},
		"namespace otherwise":          {namespace(""), namespace("false"), false},
		"an answer without a question": {"a", "b", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matters(tt.before, tt.after); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTriggersNameWhatChangedAndForgetWhatMayNoLongerHold(t *testing.T) {
	deployment := func(name string, generation int64, replicas int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Generation: generation},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		}
	}
	statefulSet := func(generation int64, replicas int32) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", Generation: generation},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas},
		}
	}
	ready, replaced := deployment("d", 2, 1), deployment("d", 1, 1)
	ready.Status.ReadyReplicas, replaced.UID = 1, "another"
	spec := object(func(va *v1alpha1.VariantAutoscaling) { va.Generation++ })
	set := object(func(va *v1alpha1.VariantAutoscaling) {
		va.Name, va.Spec.ModelID, va.Spec.ScaleTargetRef = "w", "of s", &v1alpha1.ScaleTargetRef{Kind: "StatefulSet", Name: "s"}
	})
	twin := object(func(va *v1alpha1.VariantAutoscaling) { va.Name, va.Spec.ModelID = "x", "another of d" })
	const forgetD1, forgetAll, forgetS = "forget n/m", "forget n/", "forget n/of s"
	tests := []struct {
		name   string
		change func(h toolscache.ResourceEventHandler)
		want   []string
	}{
		{"there at the start", func(h toolscache.ResourceEventHandler) { h.OnAdd(object(), true) }, nil},
		{"variant created", func(h toolscache.ResourceEventHandler) { h.OnAdd(object(), false) }, []string{"VariantAutoscaling n/v created"}},
		{"variant changed", func(h toolscache.ResourceEventHandler) { h.OnUpdate(object(), spec) }, []string{forgetD1, "VariantAutoscaling n/v changed"}},
		{"variant deleted", func(h toolscache.ResourceEventHandler) { h.OnDelete(object()) }, []string{forgetD1, "VariantAutoscaling n/v deleted"}},
		{
			"variant deleted unseen",
			func(h toolscache.ResourceEventHandler) {
				h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: object()})
			},
			[]string{forgetD1, "VariantAutoscaling n/v deleted"},
		},
		{"resync", func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 2, 1), deployment("d", 2, 1)) }, nil},
		{
			"template changed, for every variant that names the target",
			func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 1, 1), deployment("d", 2, 1)) },
			[]string{forgetAll, "Deployment n/d changed"},
		},
		{
			"scaled",
			func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 1, 1), deployment("d", 2, 3)) },
			[]string{"Deployment n/d changed"},
		},
		{
			"scaled and changed in two steps that came as one",
			func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 1, 1), deployment("d", 3, 3)) },
			[]string{forgetAll, "Deployment n/d changed"},
		},
		{"replica Ready", func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 2, 1), ready) }, []string{"Deployment n/d changed"}},
		{
			"replaced",
			func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("d", 1, 1), replaced) },
			[]string{forgetAll, "Deployment n/d changed"},
		},
		{"target deleted", func(h toolscache.ResourceEventHandler) { h.OnDelete(deployment("d", 2, 1)) }, []string{"Deployment n/d deleted"}},
		{"stateful set changed", func(h toolscache.ResourceEventHandler) { h.OnUpdate(statefulSet(1, 1), statefulSet(2, 1)) }, []string{forgetS, "StatefulSet n/s changed"}},
		{"stateful set scaled", func(h toolscache.ResourceEventHandler) { h.OnUpdate(statefulSet(1, 1), statefulSet(2, 0)) }, []string{"StatefulSet n/s changed"}},
		{
			"namespace excluded",
			func(h toolscache.ResourceEventHandler) { h.OnUpdate(namespace(""), namespace("true")) },
			[]string{"Namespace n changed"},
		},
		{"HPA there at the start", func(h toolscache.ResourceEventHandler) { h.OnAdd(scalerOf("d", 7), true) }, nil},
		{"HPA created", func(h toolscache.ResourceEventHandler) { h.OnAdd(scalerOf("d", 7), false) }, []string{"HorizontalPodAutoscaler n/h created"}},
		{"HPA changed", func(h toolscache.ResourceEventHandler) { h.OnUpdate(scalerOf("d", 7), scalerOf("d", 8)) }, []string{"HorizontalPodAutoscaler n/h changed"}},
		{"HPA says something", func(h toolscache.ResourceEventHandler) { h.OnUpdate(scalerOf("d", 7), saying(scalerOf("d", 7))) }, nil},
		{"HPA turns to another", func(h toolscache.ResourceEventHandler) { h.OnUpdate(scalerOf("d", 7), scalerOf("e", 7)) }, []string{"HorizontalPodAutoscaler n/h changed"}},
		{"HPA deleted", func(h toolscache.ResourceEventHandler) { h.OnDelete(scalerOf("d", 7)) }, []string{"HorizontalPodAutoscaler n/h deleted"}},
		{"HPA of no target", func(h toolscache.ResourceEventHandler) { h.OnAdd(scalerOf("e", 7), false) }, nil},
		{"ScaledObject created", func(h toolscache.ResourceEventHandler) { h.OnAdd(kedaOf("d", ""), false) }, []string{"ScaledObject n/k created"}},
		{"ScaledObject paused", func(h toolscache.ResourceEventHandler) { h.OnUpdate(kedaOf("d", ""), kedaOf("d", "true")) }, []string{"ScaledObject n/k changed"}},
		{"ScaledObject says something", func(h toolscache.ResourceEventHandler) { h.OnUpdate(kedaOf("d", ""), kedaOf("d", "")) }, nil},
		{"ScaledObject of no target", func(h toolscache.ResourceEventHandler) { h.OnDelete(kedaOf("e", "")) }, nil},
		{"a target of no variant", func(h toolscache.ResourceEventHandler) { h.OnUpdate(deployment("e", 1, 1), deployment("e", 2, 1)) }, nil},
		{"a kind of the same name", func(h toolscache.ResourceEventHandler) { h.OnDelete(deployment("s", 1, 1)) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			all := cached{listed: listed{items: []v1alpha1.VariantAutoscaling{*object(), *set, *twin}}}
			triggers := NewTriggers(all, all,
				func(reason string) { got = append(got, reason) },
				func(model scaling.ModelKey) { got = append(got, "forget "+model.String()) }, func() {})
			tt.change(triggers.handler(t.Context()))
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

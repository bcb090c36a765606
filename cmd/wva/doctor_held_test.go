package main

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func scaledObject(name, target string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"scaleTargetRef": map[string]any{"name": target}, "triggers": []any{}},
	}}
	u.SetGroupVersionKind(scaledObjectKind)
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetAnnotations(map[string]string{"autoscaling.keda.sh/paused": "true"})
	return u
}

func TestWhatWasListedIsReadAsTheCacheOfAManager(t *testing.T) {
	h := newHeld(clientgoscheme.Scheme)
	list := untypedOf(scaledObjectKind)
	list.Items = []unstructured.Unstructured{*scaledObject("s", "llama")}
	if err := h.put(list); err != nil {
		t.Fatal(err)
	}
	variant := scaling.Variant{Key: scaling.VariantKey{Namespace: "ns", Name: "llama"}, Target: scaling.TargetRef{Kind: "Deployment", Name: "llama"}}
	reader := scalers.New(h, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	of := reader.Of(t.Context(), []scaling.Variant{variant})[variant.Key]
	if !of.Known || len(of.List) != 1 || of.List[0].Name != "s" || !of.List[0].Paused {
		t.Errorf("scalers %+v, want the paused ScaledObject s", of)
	}
	// A kind that could not be listed is not one without objects.
	h.unread[autoscalingv2.SchemeGroupVersion.WithKind(scaling.KindHPA).GroupKind()] = true
	if of := reader.Of(t.Context(), []scaling.Variant{variant})[variant.Key]; of.Known || of.Fault == "" {
		t.Errorf("scalers %+v, want that they are not known", of)
	}
}

func TestHeldObjectsAreReplacedAndFound(t *testing.T) {
	h := newHeld(clientgoscheme.Scheme)
	hpa := func(most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: most}}
	}
	if _, there, err := h.replace(hpa(1)); there || err != nil {
		t.Errorf("got %t, %v of the first", there, err)
	}
	if before, there, err := h.replace(hpa(2)); !there || err != nil || before.(*autoscalingv2.HorizontalPodAutoscaler).Spec.MaxReplicas != 1 {
		t.Errorf("got %v, %t, %v; want the first", before, there, err)
	}
	var got autoscalingv2.HorizontalPodAutoscaler
	if err := h.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "h"}, &got); err != nil || got.Spec.MaxReplicas != 2 {
		t.Errorf("got %+v, %v; want the second", got, err)
	}
	if err := h.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, &got); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want that there is none", err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(leaderWorkerSetKind)
	if _, err := h.GetInformer(t.Context(), u); !meta.IsNoMatchError(err) {
		t.Errorf("got %v, want that the cluster has no such kind", err)
	}
	if _, err := h.GetInformer(t.Context(), hpa(1)); err != nil {
		t.Error(err)
	}
}

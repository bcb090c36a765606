package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// scalerOf returns the HPA n/h of a Deployment.
func scalerOf(target string, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "h"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: target}, MaxReplicas: most,
		},
	}
}

// saying returns h with a condition in its status.
func saying(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse}}
	return h
}

// kedaOf returns the ScaledObject n/k of a Deployment, with a value of the annotation that pauses
// it.
func kedaOf(target, paused string) *unstructured.Unstructured {
	u := scaledObjects()
	u.SetNamespace("n")
	u.SetName("k")
	u.SetGeneration(1)
	u.SetAnnotations(map[string]string{"autoscaling.keda.sh/paused": paused})
	u.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"name": target}}
	return u
}

// informing is a cache of a cluster that gets KEDA later. GetInformer fails if it would wait for a
// sync, because nothing is listed here.
type informing struct {
	cached
	keda  time.Time // when KEDA is installed
	asked []string
	hpa   toolscache.ResourceEventHandler
}

func (i *informing) GetInformer(_ context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	var o cache.InformerGetOptions
	for _, set := range opts {
		set(&o)
	}
	kind := scalerKind(object)
	if kind != "" && (o.BlockUntilSynced == nil || *o.BlockUntilSynced) {
		return nil, errors.New("waits for what may never be listed")
	}
	if kind == scaling.KindScaledObject {
		i.asked = append(i.asked, time.Since(begun).String())
		if time.Now().Before(i.keda) {
			return nil, &meta.NoKindMatchError{}
		}
	}
	return &informer{of: i, kind: kind}, nil
}

type informer struct {
	cache.Informer // other methods panic
	of             *informing
	kind           string
}

// registration is the registration of a handler; other methods panic.
type registration struct {
	toolscache.ResourceEventHandlerRegistration
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if i.kind == scaling.KindHPA {
		i.of.hpa = h
	}
	return registration{}, nil
}

// begun is the time at which a synctest begins.
var begun = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestScalersAreWatchedWithoutWaitingForThem: a new HPA wakes a cycle, whether the cluster has KEDA
// already or gets it later.
func TestScalersAreWatchedWithoutWaitingForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		i := &informing{cached: cached{listed: listed{items: []v1alpha1.VariantAutoscaling{*object()}}}, keda: begun.Add(90 * time.Second)}
		var got []string
		triggers := NewTriggers(i, i, func(reason string) { got = append(got, reason) }, func(scaling.ModelKey) {}, func() {})
		ended := make(chan error, 1)
		go func() { ended <- triggers.Start(ctx) }()
		synctest.Wait()
		i.hpa.OnAdd(scalerOf("d", 7), false)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, []string{"HorizontalPodAutoscaler n/h created"}); diff != "" {
			t.Errorf("triggers, -got +want:\n%s", diff)
		}
		if diff := cmp.Diff(i.asked, []string{"0s", "1m0s", "2m0s"}); diff != "" {
			t.Errorf("asked for ScaledObjects after, -got +want:\n%s", diff)
		}
	})
}

//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestTheScaledObjectOfKServeIsCarriedOutByKEDA has the real KEDA carry out a ScaledObject as KServe
// generates it, which is the variant: the replicas follow the load, and a restart of the manager, in
// which the metric is missing, moves none.
func TestTheScaledObjectOfKServeIsCarriedOutByKEDA(t *testing.T) {
	const ns, name = "kserve-keda", "chat"
	if err := shared.bed.UnregisterExternalMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	byPrometheus := testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true}
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	restart(t, byPrometheus)
	scrapeManager(t, "manager")
	v := chat(ns, name)
	v.Annotated, v.NoHPA = true, true
	scales := recordScales(t, ns)
	deploy(t, v)
	startKEDA(t)
	so := kserveScaledObject(v)
	apply(t, so)
	t.Cleanup(func() { letGo(t, so) })
	firstReady(t, ns, name)
	begun := time.Now()
	load(t, ns, v.ModelID, "constant(8,900s)")
	scales.await(t, 4*time.Minute, name, 2, begun)
	eventually(t, time.Minute, func(ctx context.Context) string {
		return tells(ctx, ns, "ScaledObject", so.GetName(), "Decided", "ScaledUp")
	})

	restart(t, byPrometheus)
	eventually(t, time.Minute, func(ctx context.Context) string {
		_, err := explained(ctx, shared.manager, ns, so.GetName())
		if err != nil {
			return err.Error()
		}
		return ""
	})
	consistently(t, 6*hpaPeriod, func(context.Context) string { return scales.still(name, 2) })
	if path := scales.path(name); !slices.Equal(path, []int32{1, 2}) {
		t.Errorf("the Deployment was told to have %v replicas one after another, want 1, 2", path)
	}
}

// kserveScaledObject returns the ScaledObject that KServe generates for a variant.
func kserveScaledObject(v testbed.Variant) *unstructured.Unstructured {
	name := v.Name + "-kserve-keda"
	so := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"spec": map[string]any{
			"scaleTargetRef":  map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": v.Name},
			"minReplicaCount": int64(1), "maxReplicaCount": int64(2),
			// What clusters do by default; the local one waits for nothing.
			"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{
				"scaleDown": map[string]any{"stabilizationWindowSeconds": int64(300)},
			}}},
			"triggers": []any{map[string]any{
				"type": "prometheus", "name": "wva-desired-replicas",
				"metadata": map[string]any{
					"serverAddress": shared.bed.State.Prometheus, "threshold": "1",
					"query": fmt.Sprintf("wva_desired_replicas{variant_name=%q,exported_namespace=%q}", name, v.Namespace),
				},
			}},
		},
	}}
	so.SetNamespace(v.Namespace)
	so.SetName(name)
	so.SetLabels(map[string]string{v1alpha1.LabelAcceleratorName: v.Accelerator})
	so.SetAnnotations(map[string]string{
		v1alpha1.AnnotationManaged: "true", v1alpha1.AnnotationModelID: v.ModelID, v1alpha1.AnnotationVariantCost: v.Cost,
	})
	return so
}

// tells says which of some events there is not of an object, or returns "".
func tells(ctx context.Context, namespace, kind, name string, reasons ...string) string {
	var events corev1.EventList
	if err := shared.bed.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	for _, reason := range reasons {
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason
		}) {
			return fmt.Sprintf("there is no event %s of %s %s", reason, kind, name)
		}
	}
	return ""
}

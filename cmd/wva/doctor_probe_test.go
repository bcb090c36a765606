package main

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestProbeJudgesWhatItSees shows a probe one look after another, each 10 s after the one before.
func TestProbeJudgesWhatItSees(t *testing.T) {
	nothing, unread := sight{replicas: 1}, sight{replicas: 1, says: "ScalingActive False FailedGetExternalMetric: no"}
	read := sight{replicas: 1, reads: true, says: "ScalingActive True ValidMetricFound: yes"}
	to := func(n int32) sight { return sight{replicas: n, reads: true} }
	for _, tt := range []struct {
		name  string
		to    int32
		looks []sight
		want  string // "" while it waits
	}{
		{"a scaler that nothing looks at is waited for", 2, []sight{nothing, nothing, nothing, nothing, nothing}, ""},
		{"one that reads nothing is waited for at first", 2, []sight{unread, unread, unread}, ""},
		{"one that reads nothing for 20 s", 2, []sight{nothing, unread, unread, unread, unread}, "read!"},
		{"one that fails once and then reads", 2, []sight{unread, unread, to(2)}, "read set"},
		{"one that sets it at once", 2, []sight{to(2)}, "read set"},
		{"one that reads and then sets it", 2, []sight{read, read, to(2)}, "read set"},
		{"one that reads and does not set it", 2, []sight{read, read, read, read}, "read set!"},
		{"one that has read and then fails", 2, []sight{read, unread, unread, unread}, "read set!"},
		{"a first step of several", 9, []sight{to(5)}, "read set"},
		{"too much", 2, []sight{to(4)}, "read set!"},
		{"the wrong way", 2, []sight{to(0)}, "read set!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &probing{
				examination: &examination{}, progress: io.Discard, out: &doctor.Probe{},
				scaler: scaling.Scaler{Kind: scaling.KindHPA}, sends: sending{from: 1, to: tt.to, tagged: true},
			}
			w, done := waits{}, false
			for i, seen := range tt.looks {
				if done {
					t.Fatalf("it ended before look %d", i)
				}
				w.last = seen
				done = p.judge(t.Context(), &w, time.Unix(0, 0).Add(time.Duration(i)*10*time.Second))
			}
			if !done {
				if tt.want != "" {
					t.Errorf("it waits, want %s", tt.want)
				}
				return
			}
			if got := stepsOf(p.out); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTheProbesHPAHasTheShapeOfTheVariants: what it waits for is left out, what may hinder it is not.
func TestTheProbesHPAHasTheShapeOfTheVariants(t *testing.T) {
	never, half := autoscalingv2.DisabledPolicySelect, resource.MustParse("0.5")
	of := &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp:   &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(240)), Tolerance: &half, Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 60}}},
		ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: &never},
	}
	got := withoutWindows(of)
	if *got.ScaleUp.StabilizationWindowSeconds != 0 || *got.ScaleDown.StabilizationWindowSeconds != 0 {
		t.Errorf("it waits: %+v", got)
	}
	if got.ScaleUp.Tolerance == nil || len(got.ScaleUp.Policies) != 1 || got.ScaleDown.SelectPolicy == nil {
		t.Errorf("it has lost its shape: %+v", got)
	}
	if *of.ScaleUp.StabilizationWindowSeconds != 240 || of.ScaleDown.StabilizationWindowSeconds != nil {
		t.Errorf("the variant's was changed: %+v", of)
	}
}

// TestTheProbesScaledObjectHasTheShapeOfTheVariants reads the ScaledObject of the samples.
func TestTheProbesScaledObjectHasTheShapeOfTheVariants(t *testing.T) {
	const ns = "demo"
	of := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": ns, "name": "llama", "annotations": map[string]any{"autoscaling.keda.sh/paused": "false"}},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "llama"}, "minReplicaCount": int64(0), "maxReplicaCount": int64(4), "idleReplicaCount": int64(0), "pollingInterval": int64(30),
			"fallback": map[string]any{"failureThreshold": int64(3), "replicas": int64(2)},
			"advanced": map[string]any{"restoreToOriginalReplicaCount": true, "horizontalPodAutoscalerConfig": map[string]any{
				"name": "llama", "behavior": map[string]any{"scaleUp": map[string]any{"stabilizationWindowSeconds": int64(60), "selectPolicy": "Disabled"}},
			}},
			"triggers": []any{
				map[string]any{"type": "prometheus", "metadata": map[string]any{"query": `wva_desired_replicas{variant_name="llama"}`, "threshold": "1"}},
				map[string]any{"type": "cpu", "metadata": map[string]any{"value": "80"}},
				map[string]any{"type": "external", "metadata": map[string]any{"scalerAddress": "wva:9443"}},
			},
		},
	}}
	of.SetGroupVersionKind(scaledObjectKind)
	h := newHeld(nil)
	h.objects[scaledObjectKind.GroupKind()] = append(h.objects[scaledObjectKind.GroupKind()], of)
	p := &probing{
		examination: &examination{held: h}, out: &doctor.Probe{Variant: scaling.VariantKey{Namespace: ns, Name: "llama"}},
		scaler: scaling.Scaler{Kind: scaling.KindScaledObject, Name: "llama"}, desired: 7,
	}
	before := of.DeepCopy()
	made, why := p.shape(t.Context())
	if why != "" {
		t.Fatal(why)
	}
	p.number(made, false)
	if p.sends != (sending{from: 1, to: 7}) || *made.target.Spec.Replicas != 1 || !made.target.Spec.Paused {
		t.Errorf("it sends %+v to %+v", p.sends, made.target.Spec)
	}
	want := map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": made.name}, "minReplicaCount": int64(1), "maxReplicaCount": int64(7), "pollingInterval": int64(5),
		"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{
			"scaleUp": map[string]any{"stabilizationWindowSeconds": int64(0), "selectPolicy": "Disabled"}, "scaleDown": map[string]any{"stabilizationWindowSeconds": int64(0)},
		}}},
		"triggers": []any{
			map[string]any{"type": "prometheus", "metadata": map[string]any{"query": `wva_desired_replicas{variant_name="llama"}`, "threshold": "1"}},
			map[string]any{"type": "external", "metadata": map[string]any{"scalerAddress": "wva:9443", "variantName": "llama"}},
		},
	}
	if diff := cmp.Diff(want, made.keda.Object["spec"]); diff != "" {
		t.Errorf("the ScaledObject of the probe (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Object, of.Object); diff != "" {
		t.Errorf("the variant's was changed (-before +after):\n%s", diff)
	}
}

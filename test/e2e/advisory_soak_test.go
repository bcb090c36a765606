//go:build e2e && soak

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

var adviseFor = flag.Duration("advise", 10*time.Minute, "how long a model is advised beside KEDA")

// TestAdviceBesideKEDAWritesNothing has the real KEDA scale a model by the requests that it computes, under a load that
// rises and falls, while the manager advises. The manager writes to neither target nor scaler, and the report counts the
// GPU hours of the pods.
func TestAdviceBesideKEDAWritesNothing(t *testing.T) {
	const ns = "advice"
	cycles := filepath.Join(t.TempDir(), "cycles.jsonl")
	withoutExternalMetrics(t, "RECORD_FILE="+cycles)
	v := aside(ns, "advised")
	v.Actuation = string(scaling.ActuationAdvisory)
	deploy(t, v)
	condition(t, time.Minute, ns, v.Name, "ScalerFollowing", "Unknown", "Advisory")
	startKEDA(t)
	so := byRequests(ns, v.Name)
	apply(t, so)
	t.Cleanup(func() { letGo(t, so) })

	load(t, ns, v.ModelID, "sine(1->14,4m,"+adviseFor.String()+")")
	begun := time.Now()
	pods := watchPods(t, ns)
	consistently(t, *adviseFor, func(context.Context) string {
		writes, err := shared.bed.ManagerWrites(begun)
		if err != nil {
			return err.Error()
		}
		for _, w := range writes {
			switch w.Resource {
			case "deployments", "pods", "scaledobjects", "horizontalpodautoscalers":
				return "the manager writes: " + w.String()
			}
		}
		return ""
	})
	shared.manager.Stop() // it writes what waits
	lives := pods.stop()
	if len(lives) < 3 {
		t.Errorf("KEDA had %d pods run, want three or more: the load shows nothing", len(lives))
	}

	out, err := wva(t, nil, "report", "--record", cycles, "--from", begun.UTC().Format(time.RFC3339), "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Models []shadow.Model }
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Models) != 1 {
		t.Fatalf("%d models, %v: %s", len(report.Models), err, out)
	}
	m := report.Models[0]
	ran := time.Duration(0)
	for _, l := range lives {
		ran += overlap(l, m.From.Sub(begun), m.To.Sub(begun))
	}
	t.Logf("%d pods; GPU hours: %.4f of the pods, %.4f of the report, %.4f advised; of %.3f h, %.3f advised", len(lives), ran.Hours(), m.Ran.GPUHours,
		m.Decided.GPUHours, m.Hours, m.Advisory)
	if off := math.Abs(m.Ran.GPUHours/ran.Hours() - 1); off > 0.01 {
		t.Errorf("the report counts %.4f GPU hours, the pods ran for %.4f: off by %.2f %%, want 1 %% at most", m.Ran.GPUHours, ran.Hours(), 100*off)
	}
	if m.Hours < 0.95*adviseFor.Hours() || m.Advisory != m.Hours {
		t.Errorf("%.3f h are compared and %.3f advised, want all of %.3f h", m.Hours, m.Advisory, adviseFor.Hours())
	}
}

// overlap is how long a pod was there between two times after the watch began.
func overlap(l podLife, from, to time.Duration) time.Duration {
	gone := l.gone
	if gone < 0 {
		gone = to
	}
	return max(0, min(gone, to)-max(l.made, from))
}

// byRequests is a ScaledObject that gives a variant a replica for every four requests that are computed.
func byRequests(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"scaleTargetRef":  map[string]any{"name": name},
			"pollingInterval": int64(5), "minReplicaCount": int64(1), "maxReplicaCount": int64(6),
			"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{
				"scaleDown": map[string]any{"stabilizationWindowSeconds": int64(30)},
			}}},
			"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
				"serverAddress": shared.bed.State.Prometheus, "threshold": "4",
				"query": `sum(vllm:num_requests_running{namespace="` + namespace + `"})`,
			}}},
		},
	}}
}

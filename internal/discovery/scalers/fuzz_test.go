package scalers

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// FuzzHPA reads HorizontalPodAutoscalers: nothing crashes, and one of the cache, which is
// stripped, reads as that of the API server does.
func FuzzHPA(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"minReplicas":0,"maxReplicas":-1,"behavior":{"scaleUp":{"tolerance":"1e9","stabilizationWindowSeconds":-5,"policies":[{"periodSeconds":2147483647}],"selectPolicy":"Disabled"}}}}`,
		`{"metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[{"type":"External","external":{"metric":{"name":"wva_desired_replicas","selector":{"matchLabels":{"variant_name":"a"},"matchExpressions":[{"key":"variant_name","operator":"In"}]}},"target":{"averageValue":"1"}}},{"type":"Resource"}]},"status":{"currentMetrics":[{"type":"External","external":{"metric":{"name":"wva_desired_ratio"}}},{"type":""}],"conditions":[{"type":"ScalingActive","status":"False","reason":"AmbiguousSelector","message":"x"},{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]}}`,
		`{"spec":{"metrics":[{"external":{"metric":{"name":"inferno_desired_ratio"},"target":{"value":"1000m"}}}]},"status":{"conditions":[{"type":"ScalingActive","status":"False","reason":"ScalingDisabled"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		if json.Unmarshal(data, h) != nil {
			return
		}
		want, got := ofHPA(h, seriesA), ofHPA(Strip(h), seriesA)
		if want.Inactive.Reason == reasonAmbiguousSelector {
			want.Inactive.Message = ""
		}
		if want.Unable.Reason == reasonAmbiguousSelector {
			want.Unable.Message = ""
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("an HPA of the cache reads otherwise (-whole +stripped):\n%s", diff)
		}
	})
}

// FuzzScaledObject reads ScaledObjects, which no definition of ours has checked: nothing
// crashes, and bounds and messages are the same for the same object.
func FuzzScaledObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":{"name":"s","annotations":{"autoscaling.keda.sh/paused-replicas":"x"}},"spec":{"scaleTargetRef":{"name":"d"},"minReplicaCount":-3,"maxReplicaCount":1e3,"triggers":[{"type":"prometheus","metadata":{"query":"wva_desired_replicas{variant_name=\"a\"}","threshold":"NaN"}}]},"status":{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m"}]}}`,
		`{"spec":{"triggers":[{"metadata":{"query":"wva_desired_ratio{target_name=~\"a.b\"}","threshold":"1"}},{"metadata":null}]}}`,
		`{"metadata":{"creationTimestamp":"x"},"spec":{"triggers":{}}}`, `{"spec":3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		content := map[string]any{}
		if json.Unmarshal(data, &content) != nil {
			return
		}
		read := func() (scaling.Scaler, bool) {
			s, err := readScaledObject(&unstructured.Unstructured{Object: content})
			if err != nil {
				return scaling.Scaler{}, false
			}
			return scalerObject{keda: s, hpa: &autoscalingv2.HorizontalPodAutoscaler{}}.scaler(seriesA), true
		}
		first, ok := read()
		again, same := read()
		if ok != same {
			t.Fatal("the same object is read, and is not")
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("the same object reads otherwise:\n%s", diff)
		}
	})
}

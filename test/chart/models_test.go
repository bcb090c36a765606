package chart

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestTheChartMakesWhatTheSamplesShow: who copies a sample and who lets the chart
// make the scaler get the same one. What the chart says beyond the sample is not
// compared, but for the fallback.
func TestTheChartMakesWhatTheSamplesShow(t *testing.T) {
	const llama = `
models:
  - modelID: meta-llama/Llama-3.1-8B-Instruct
    namespace: llm-inference
    variants: [{name: llama-8b-l40s, minReplicas: 1, maxReplicas: 10}]
`
	const external, both = "externalScaler: {enabled: true}\n", `
modelDefaults: {scaler: keda, keda: {triggers: [external-scaler, prometheus], serverAddress: "http://prometheus-operated.monitoring.svc:9090"`
	for _, test := range []struct{ name, sample, kind, values string }{
		{"an HPA", "hpa/hpa.yaml", "HorizontalPodAutoscaler", llama},
		{"the HPA of the quick start", "variantautoscaling.yaml", "HorizontalPodAutoscaler", llama},
		{"the HPA of an instance", "multi-controller/blue.yaml", "HorizontalPodAutoscaler", "controllerInstance: blue" + llama},
		{"a ScaledObject", "keda/scaledobject.yaml", "ScaledObject", llama + `
modelDefaults: {scaler: keda, keda: {serverAddress: "http://prometheus-operated.monitoring.svc:9090", fallbackReplicas: 4}}`},
		{"a ScaledObject that goes to zero", "keda/scaledobject-zero.yaml", "ScaledObject", `
modelDefaults: {scaler: keda, keda: {serverAddress: "http://prometheus-operated.monitoring.svc:9090"}}
models:
  - modelID: meta-llama/Llama-3.1-8B-Instruct
    namespace: llm-inference
    variants: [{name: llama-8b-l40s, maxReplicas: 10}]
`},
		{"a ScaledObject of the external scaler", "keda/scaledobject-external.yaml", "ScaledObject", llama + external + both + `}}`},
		{"its authentication", "keda/scaledobject-external.yaml", "ClusterTriggerAuthentication", external},
		{"a ScaledObject of the external scaler that goes to zero", "keda/scaledobject-external-zero.yaml", "ScaledObject", external + both + `}}
models:
  - modelID: meta-llama/Llama-3.1-8B-Instruct
    namespace: llm-inference
    variants: [{name: llama-8b-l40s, maxReplicas: 10}]
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := decode(string(read(t, root+"/config/samples/"+test.sample)))
			if err != nil {
				t.Fatal(err)
			}
			sample := ofKind(t, objects, test.kind)
			made := ofKind(t, mustRender(t, load(t), values(t, test.values), standard).Objects, test.kind)
			if diff := cmp.Diff(sample["spec"], like(sample["spec"], made["spec"])); diff != "" {
				t.Errorf("(- sample, + chart)\n%s", diff)
			}
			for _, spec := range []map[string]any{sample["spec"].(map[string]any), made["spec"].(map[string]any)} {
				maps.DeleteFunc(spec, func(key string, _ any) bool { return key != "fallback" })
			}
			if diff := cmp.Diff(sample["spec"], made["spec"]); diff != "" {
				t.Errorf("the fallback (- sample, + chart)\n%s", diff)
			}
		})
	}
}

// ofKind returns the one object of a kind.
func ofKind(t *testing.T, objects []*unstructured.Unstructured, kind string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, o := range objects {
		if o.GetKind() == kind {
			found = append(found, o.Object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d objects of kind %s, want one", len(found), kind)
	}
	return found[0]
}

// like returns of a document what has a place in a sample.
func like(sample, document any) any {
	switch sample := sample.(type) {
	case map[string]any:
		of, _ := document.(map[string]any)
		kept := map[string]any{}
		for key, value := range sample {
			if there, ok := of[key]; ok {
				kept[key] = like(value, there)
			}
		}
		return kept
	case []any:
		of, _ := document.([]any)
		kept := make([]any, len(of))
		for i := range of {
			if kept[i] = of[i]; i < len(sample) {
				kept[i] = like(sample[i], of[i])
			}
		}
		return kept
	default:
		return document
	}
}

func TestTheFallbackOfKEDANeverStartsWhatIsAtZero(t *testing.T) {
	const (
		variants = "modelDefaults: {scaler: keda}\nmodels: [{modelID: m, variants: [{name: a, maxReplicas: 4, "
		external = "keda: {triggers: [external-scaler], scalerAddress: 'wva:9443'}}]}]"
	)
	for _, test := range []struct {
		name, values string
		want         any
	}{
		{"by default", "minReplicas: 1}]}]", map[string]any{"failureThreshold": float64(3), "replicas": float64(2), "behavior": "currentReplicasIfHigher"}},
		{"of its own", "minReplicas: 1, keda: {fallbackReplicas: 3, failureThreshold: 5}}]}]", map[string]any{"failureThreshold": float64(5), "replicas": float64(3), "behavior": "currentReplicasIfHigher"}},
		{"left out", "minReplicas: 1, keda: {fallbackReplicas: 0}}]}]", nil},
		{"of a variant that may be at zero", "minReplicas: 0}]}]", nil},
		{"beside the external scaler", "minReplicas: 2, " + external, map[string]any{"failureThreshold": float64(0), "replicas": float64(2), "behavior": "currentReplicasIfHigher"}},
		{"left out beside the external scaler", "minReplicas: 2, keda: {triggers: [external-scaler], scalerAddress: 'wva:9443', fallbackReplicas: 0}}]}]", nil},
		{"of a variant that may be at zero, beside the external scaler", "minReplicas: 0, " + external, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			made := ofKind(t, mustRender(t, load(t), values(t, variants+test.values), standard).Objects, "ScaledObject")
			if diff := cmp.Diff(test.want, made["spec"].(map[string]any)["fallback"]); diff != "" {
				t.Errorf("(- want, + got)\n%s", diff)
			}
		})
	}
}

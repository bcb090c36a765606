package chart

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

func TestEarlierValuesKnowTheDefaultsOfTheirSuccessors(t *testing.T) {
	all, published := described(t)
	now := map[string]any{}
	for _, v := range Leaves(all) {
		now[v.Path] = v.Default
	}
	for _, move := range published.Moved {
		got, err := json.Marshal(now[move.To])
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(move.Default)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s: the default of values.yaml differs from that of published.yaml\n%s", move.To, diff)
		}
	}
}

func TestAnEarlierNameDoesWhatTheNewOneDoes(t *testing.T) {
	chart := load(t)
	all, published := described(t)
	by := map[string]*Value{}
	for _, v := range Leaves(all) {
		by[v.Path] = v
	}
	for _, move := range published.Moved {
		t.Run(move.From, func(t *testing.T) {
			var other any = "kube-prometheus-stack" // of the label, which values.yaml does not have
			if v := by[move.To]; v != nil {
				other = v.Alternatives()[0]
			}
			before, after := values(t, "metrics: {monitor: {kind: ServiceMonitor}}"), values(t, "metrics: {monitor: {kind: ServiceMonitor}}")
			if move.From == "wva.metrics.enabled" {
				before, after = map[string]any{}, map[string]any{}
			}
			set(before, move.From, other)
			set(after, move.To, other)
			if strings.HasPrefix(move.From, "wva.prometheus.") { // which was asked with the manager's token
				set(after, "prometheus.tokenPath", "/var/run/secrets/kubernetes.io/serviceaccount/token")
			}
			got, want := mustRender(t, chart, before, standard), mustRender(t, chart, after, standard)
			if diff := cmp.Diff(texts(t, want), texts(t, got)); diff != "" {
				t.Errorf("%s: %v (- now, + earlier name)\n%s", move.From, other, diff)
			}
		})
	}
}

func TestBothNamesOfAValueAreRefused(t *testing.T) {
	chart := load(t)
	for _, test := range []struct{ name, values, want string }{
		{
			"an image", "wva: {image: {tag: v1}}\ncontroller: {image: {tag: v2}}",
			"wva.image.tag is \"v1\" and controller.image.tag is \"v2\": the first is what earlier charts called the second; keep controller.image.tag alone",
		},
		{
			"one threshold of several", "wva: {capacityScaling: {default: {kvCacheThreshold: 0.7}}}\nsaturation: {default: {kvCacheThreshold: 0.6, queueLengthThreshold: 4}}",
			"wva.capacityScaling.default.kvCacheThreshold is 0.7 and saturation.default.kvCacheThreshold is 0.6",
		},
		{
			"one part of the behavior", "hpa: {behavior: {scaleUp: {stabilizationWindowSeconds: 20}}}\nmodelDefaults: {behavior: {scaleUp: {stabilizationWindowSeconds: 30}}}",
			"hpa.behavior.scaleUp.stabilizationWindowSeconds is 20 and modelDefaults.behavior.scaleUp.stabilizationWindowSeconds is 30",
		},
		{
			"an objective", "llmd: {modelID: m, modelName: a, namespace: b}\nva: {sloTtft: 700}\nserviceClasses: {gold: {name: gold, priority: 1, data: [{model: m, slo-ttft: 500}]}}",
			"va.sloTtft is 700 and serviceClasses.gold says slo-ttft 500 of model m",
		},
		{"a scope", "wva: {namespaceScoped: false}\nwatchNamespace: a", `wva.namespaceScoped is false and watchNamespace "a"`},
		{"a model of the first charts without an ID", "variantAutoscaling: {variants: [{accelerator: H100}]}", "llmd.modelID: the ID of the model is needed"},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, chart, test.values, test.want) })
	}
}

func TestBothNamesOfAValueAreFineWhereTheyDoNotDiffer(t *testing.T) {
	chart := load(t)
	const thresholds = "ConfigMap/workload-variant-autoscaler-system/saturation-scaling-config"
	const model = "llmd: {modelID: m, modelName: a, namespace: b}\n"
	for _, test := range []struct {
		name, values, object string
		want                 []string // in the object
	}{
		{
			"one tag and one scope", "wva: {image: {tag: v1}, namespaceScoped: true}\ncontroller: {image: {tag: v1}}\nwatchNamespace: workload-variant-autoscaler-system",
			"Deployment/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager",
			[]string{":v1\n", "--watch-namespace=workload-variant-autoscaler-system"},
		},
		{
			"a number and a number in quotes", model + "hpa: {targetAverageValue: 2}\nmodelDefaults: {averageValue: \"2\"}",
			"HorizontalPodAutoscaler/b/workload-variant-autoscaler-hpa",
			[]string{`averageValue: "2"`},
		},
		{
			"thresholds of which one is in both", "wva: {capacityScaling: {default: {kvCacheThreshold: 0.7, kvSpareTrigger: 0.2}}}\nsaturation: {default: {kvCacheThreshold: 0.7, queueLengthThreshold: 4}}",
			thresholds,
			[]string{"kvCacheThreshold: 0.7", "kvSpareTrigger: 0.2", "queueLengthThreshold: 4"},
		},
		{
			"overrides of several models, whose keys have dots", "wva: {capacityScaling: {overrides: {a.b: {model_id: m, kvCacheThreshold: 0.7}}}}\nsaturation: {overrides: {a.b: {model_id: m}, c: {model_id: other}}}",
			thresholds,
			[]string{"a.b: |", "kvCacheThreshold: 0.7", "c: |"},
		},
		{
			"two parts of the behavior", model + "hpa: {behavior: {scaleUp: {stabilizationWindowSeconds: 20}}}\nmodelDefaults: {behavior: {scaleDown: {stabilizationWindowSeconds: 30}}}",
			"HorizontalPodAutoscaler/b/workload-variant-autoscaler-hpa",
			[]string{"stabilizationWindowSeconds: 20", "stabilizationWindowSeconds: 30"},
		},
		{
			"an objective that another class has too", model + "va: {sloTtft: 500, sloTpot: 20}\nserviceClasses: {gold: {name: gold, priority: 1, data: [{model: m, slo-ttft: 500}]}}",
			"ConfigMap/workload-variant-autoscaler-system/service-classes-config",
			[]string{"gold: |", "published: |", "slo-tpot: 20"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := texts(t, mustRender(t, chart, values(t, test.values), standard))[test.object]
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: got\n%s\nwant in it %q", test.object, text, want)
				}
			}
		})
	}
}

// TestReusedValuesAreRefusedWithWhatToUse: helm upgrade --reuse-values puts the values of the chart before in place of
// those of the chart.
func TestReusedValuesAreRefusedWithWhatToUse(t *testing.T) {
	chart := load(t)
	chart.Values = publishedDefaults(t)
	_, err := Render(chart, nil, publishedRelease)
	said(t, err, "Use --reset-then-reuse-values")
}

func TestTheValuesOfOneModelBecomeItsObjects(t *testing.T) {
	out := mustRender(t, load(t), samples(t)["published"], standard)
	va := find[v1alpha1.VariantAutoscaling](t, out.Objects, "VariantAutoscaling/llm-inference/workload-variant-autoscaler-va")
	lowest, highest := int32(1), int32(10)
	want := v1alpha1.VariantAutoscalingSpec{
		ScaleTargetRef: va.Spec.ScaleTargetRef,
		ModelID:        "unsloth/Meta-Llama-3.1-8B", Accelerator: "H100", VariantCost: "10.0", MinReplicas: lowest, MaxReplicas: &highest,
	}
	if diff := cmp.Diff(want, va.Spec); diff != "" {
		t.Error(diff)
	}
	if got := va.Spec.ScaleTargetRef.Name; got != "ms-inference-scheduling-llm-d-modelservice-decode" {
		t.Errorf("got target %q", got)
	}
	hpa := find[autoscalingv2.HorizontalPodAutoscaler](t, out.Objects, "HorizontalPodAutoscaler/llm-inference/workload-variant-autoscaler-hpa")
	if got := hpa.Spec.Behavior.ScaleUp; *got.StabilizationWindowSeconds != 240 || got.Policies[0].PeriodSeconds != 150 || got.Tolerance == nil {
		t.Errorf("got behavior %v, want 240 s, 10 pods in 150 s, and the default tolerance", got)
	}
	class := find[corev1.ConfigMap](t, out.Objects, "ConfigMap/workload-variant-autoscaler-system/service-classes-config")
	for _, want := range []string{"slo-tpot: 10\n", "slo-ttft: 1000\n", "model: unsloth/Meta-Llama-3.1-8B\n"} {
		if !strings.Contains(class.Data["published"], want) {
			t.Errorf("no %q in the service class:\n%s", want, class.Data["published"])
		}
	}
}

func TestTheVariantsOfAnEarlierChartBecomeObjects(t *testing.T) {
	out := mustRender(t, load(t), samples(t)["published-variants"], standard)
	va := find[v1alpha1.VariantAutoscaling](t, out.Objects, "VariantAutoscaling/llm-inference/llama-8b-a100")
	if va.Spec.ScaleTargetRef.Name != "llama-8b-a100-decode" || va.Spec.VariantProfile.PerfParms.DecodeParms["alpha"] != "20.58" {
		t.Errorf("got %+v", va.Spec)
	}
	find[v1alpha1.VariantAutoscaling](t, out.Objects, "VariantAutoscaling/llm-inference/llama-8b-mi300x")
}

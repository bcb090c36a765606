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
		{"an image", "wva: {image: {tag: v1}}\ncontroller: {image: {tag: v2}}", "wva.image.tag and controller.image.tag are both given: the first is what earlier charts called the second; keep controller.image.tag alone"},
		{"a scope", "wva: {namespaceScoped: false}\nwatchNamespace: a", `wva.namespaceScoped is false and watchNamespace "a"`},
		{"a model of the first charts without an ID", "variantAutoscaling: {variants: [{accelerator: H100}]}", "llmd.modelID: the ID of the model is needed"},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, chart, test.values, test.want) })
	}
}

func TestBothNamesWithOneMeaningAreFine(t *testing.T) {
	mustRender(t, load(t), values(t, "wva: {image: {tag: v1}, namespaceScoped: true}\ncontroller: {image: {tag: v1}}\nwatchNamespace: workload-variant-autoscaler-system"), standard)
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

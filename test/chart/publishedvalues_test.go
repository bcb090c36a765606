package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// publishedDefaults returns the values.yaml of the published chart of version 0.5.0.
func publishedDefaults(t testing.TB) map[string]any {
	t.Helper()
	return values(t, string(read(t, "testdata/published/values.yaml")))
}

// publishedRelease is the release of the facts: wva in the namespace of the manager.
var publishedRelease = Release{Name: "wva", Namespace: "workload-variant-autoscaler-system"}

// Names of what a published release has for its model.
const (
	publishedVA      = "VariantAutoscaling/llm-d-autoscaler/wva-workload-variant-autoscaler-va"
	publishedHPA     = "HorizontalPodAutoscaler/llm-d-autoscaler/wva-workload-variant-autoscaler-hpa"
	publishedService = "Service/llm-d-autoscaler/wva-workload-variant-autoscaler-vllm"
	publishedMonitor = "ServiceMonitor/llm-d-autoscaler/wva-workload-variant-autoscaler-vllm-mon"
	publishedManager = "Deployment/workload-variant-autoscaler-system/wva-workload-variant-autoscaler-controller-manager"
	ofSettings       = "ConfigMap/workload-variant-autoscaler-system/workload-variant-autoscaler-variantautoscaling-config"
)

// changedValue is a row of testdata/published/changed.yaml.
type changedValue struct{ Path, Value, Object, Want string }

func changedValues(t *testing.T) []changedValue {
	t.Helper()
	var rows []changedValue
	if err := yaml.Unmarshal(read(t, "testdata/published/changed.yaml"), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestEveryPublishedValueIsAcceptedAndMovesOrIsNamed(t *testing.T) {
	chart := load(t)
	unchanged := mustRender(t, chart, publishedDefaults(t), publishedRelease)
	changed := changedValues(t)
	for _, test := range changed {
		t.Run(test.Path+"="+test.Value, func(t *testing.T) {
			v := publishedDefaults(t)
			set(v, test.Path, values(t, "v: "+test.Value)["v"])
			out := mustRender(t, chart, v, publishedRelease)
			switch test.Object {
			case "":
				return
			case "notes":
				if !strings.Contains(out.Notes, test.Want) {
					t.Errorf("the notes do not say %q:\n%s", test.Want, out.Notes)
				}
				return
			}
			text, ok := texts(t, out)[test.Object]
			if !ok || !strings.Contains(text, test.Want) {
				t.Errorf("%s: got\n%s\nwant in it %q", test.Object, text, test.Want)
			}
			if before := texts(t, unchanged)[test.Object]; before == text && !slices.Contains([]string{"controller.enabled", "va.enabled", "hpa.enabled", "vllmService.enabled", "wva.prometheus.tls.insecureSkipVerify"}, test.Path) {
				t.Error("the change makes no difference to it")
			}
		})
		t.Run(test.Path+"="+test.Value+" alone", func(t *testing.T) {
			v := map[string]any{}
			set(v, test.Path, values(t, "v: "+test.Value)["v"])
			mustRender(t, chart, v, publishedRelease)
		})
	}
	// Each by itself as it was by default, as a release has it that was made with one value.
	all := publishedDefaults(t)
	for path, value := range leaves("", all) {
		t.Run(path+" as it was", func(t *testing.T) {
			v := map[string]any{}
			set(v, path, value)
			mustRender(t, chart, v, publishedRelease)
		})
		if !slices.ContainsFunc(changed, func(c changedValue) bool { return c.Path == path }) {
			t.Errorf("%s is not changed by any row", path)
		}
	}
}

// leaves returns the values of a map by their paths; lists and empty maps are values.
func leaves(prefix string, of map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range of {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			maps.Copy(out, leaves(prefix+key+".", inner))
			continue
		}
		out[prefix+key] = value
	}
	return out
}

// TestTheDefaultsOfThePublishedChartAreItsOwn: they hold where helm keeps what was set alone.
func TestTheDefaultsOfThePublishedChartAreItsOwn(t *testing.T) {
	_, published := described(t)
	all := leaves("", publishedDefaults(t))
	held := leaves("", published.Defaults)
	for path, value := range held {
		if diff := cmp.Diff(all[path], value); diff != "" {
			t.Errorf("%s (- values.yaml of the published chart, + held)\n%s", path, diff)
		}
	}
	for _, path := range []string{"wva.namespaceScoped", "wva.prometheus.baseURL", "hpa.behavior.scaleUp.stabilizationWindowSeconds", "wva.capacityScaling.default.kvSpareTrigger"} {
		if held[path] == nil {
			t.Errorf("%s is that of this chart after an upgrade", path)
		}
	}
}

func TestThePublishedValuesMakeWhatTheReleaseHas(t *testing.T) {
	out := mustRender(t, load(t), publishedDefaults(t), publishedRelease)
	va := find[v1alpha1.VariantAutoscaling](t, out.Objects, publishedVA)
	hpa := find[autoscalingv2.HorizontalPodAutoscaler](t, out.Objects, publishedHPA)
	const target = "ms-workload-autoscaler-llm-d-modelservice-decode"
	if va.Spec.ScaleTargetRef.Name != target || hpa.Spec.ScaleTargetRef.Name != target {
		t.Errorf("got targets %s and %s, want %s", va.Spec.ScaleTargetRef.Name, hpa.Spec.ScaleTargetRef.Name, target)
	}
	if got := hpa.Spec.Metrics[0].External.Metric.Selector.MatchLabels; got["variant_name"] != va.Name || got["exported_namespace"] != va.Namespace {
		t.Errorf("the HPA reads %v", got)
	}
	if n := count(out.Objects, "HorizontalPodAutoscaler"); n != 1 {
		t.Errorf("got %d HPAs, want 1", n)
	}
	d := find[appsv1.Deployment](t, out.Objects, publishedManager)
	if got := d.Spec.Template.Spec.Containers[0]; got.Image != "ghcr.io/llm-d-incubation/workload-variant-autoscaler:v0.6.0" || !slices.Contains(got.Args, "--watch-namespace=llm-d-autoscaler") {
		t.Errorf("got image %s and arguments %v", got.Image, got.Args)
	}
	if diff := cmp.Diff(map[string]string{"control-plane": "controller-manager", "app.kubernetes.io/name": "workload-variant-autoscaler", "app.kubernetes.io/instance": "wva"}, d.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("the selector, which cannot be changed (-want +got):\n%s", diff)
	}
	settings := find[corev1.ConfigMap](t, out.Objects, ofSettings)
	if settings.Data["PROMETHEUS_TOKEN_PATH"] == "" || settings.Data["PROMETHEUS_CA_CERT_PATH"] != "" {
		t.Errorf("got %v, want the token of the account, and no CA of a file that is not there", settings.Data)
	}
	service := find[corev1.Service](t, out.Objects, publishedService)
	if diff := cmp.Diff(map[string]string{"llm-d.ai/model": "ms-workload-autoscaler-llm-d-modelservice"}, service.Spec.Selector); diff != "" {
		t.Errorf("the Service of the serving pods (-want +got):\n%s", diff)
	}
	bound := find[rbacv1.ClusterRoleBinding](t, out.Objects, "ClusterRoleBinding//wva-workload-variant-autoscaler-workload-variant-autoscaler-system-metrics-reader")
	if got := bound.Subjects[0]; got.Name != "kube-prometheus-stack-prometheus" || got.Namespace != "openshift-user-workload-monitoring" {
		t.Errorf("Prometheus may not scrape: got %v", got)
	}
	for _, want := range []string{"wva.enabled has no effect", "wva.image.tag has no effect: v0.5.0 is of an earlier version", "the manager serves llm-d-autoscaler"} {
		if !strings.Contains(out.Notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, out.Notes)
		}
	}
}

func count(objects []*unstructured.Unstructured, kind string) (n int) {
	for _, o := range objects {
		if o.GetKind() == kind {
			n++
		}
	}
	return n
}

func TestANewValueBesideAnEarlierDefaultWins(t *testing.T) {
	chart := load(t)
	for _, test := range []struct{ name, values, object, want, note string }{
		{"an image", "controller: {image: {repository: registry.example.com/wva}}", publishedManager, "image: registry.example.com/wva:v0.6.0", "wva.image.repository has no effect: controller.image.repository is given"},
		{"a tag", "controller: {image: {tag: v9.9.9}}", publishedManager, "workload-variant-autoscaler:v9.9.9", "The tag is v9.9.9 (controller.image.tag)"},
		{"an interval", "interval: 15s", ofSettings, "GLOBAL_OPT_INTERVAL: 15s", "wva.reconcileInterval has no effect: interval is given"},
		{"a scope", "watchNamespace: llm-d-autoscaler", publishedManager, "--watch-namespace=llm-d-autoscaler", ""},
		{
			"thresholds", "saturation: {default: {kvCacheThreshold: 0.5}}",
			"ConfigMap/workload-variant-autoscaler-system/saturation-scaling-config", "kvCacheThreshold: 0.5",
			"wva.capacityScaling.default.kvCacheThreshold has no effect: saturation.default.kvCacheThreshold is given",
		},
		{
			"one part of the behavior", "modelDefaults: {behavior: {scaleUp: {stabilizationWindowSeconds: 7}}}", publishedHPA,
			"stabilizationWindowSeconds: 7", "hpa.behavior.scaleUp.stabilizationWindowSeconds has no effect",
		},
		{
			"an objective", "serviceClasses: {gold: {name: gold, priority: 2, data: [{model: Qwen/Qwen3-0.6B, slo-ttft: 300}]}}",
			"ConfigMap/workload-variant-autoscaler-system/service-classes-config", "slo-ttft: 300",
			"va.sloTtft has no effect: serviceClasses.gold is given for model Qwen/Qwen3-0.6B",
		},
		{"another model", "models: [{modelID: m, namespace: llm-d-autoscaler, variants: [{name: a, scaler: none}]}]", publishedVA, "Qwen/Qwen3-0.6B", ""},
		{"the same variant", "models: [{modelID: m, namespace: llm-d-autoscaler, variants: [{name: wva-workload-variant-autoscaler-va, scaler: none}]}]", publishedVA, "modelID: m", "llmd and va have no effect: models has variant wva-workload-variant-autoscaler-va"},
		{"a CA", "prometheus: {caConfigMap: {name: ca}}", ofSettings, "PROMETHEUS_CA_CERT_PATH: /etc/wva/prometheus-ca/ca.crt", ""},
		{"a token", "prometheus: {tokenSecret: token}", ofSettings, "PROMETHEUS_TOKEN_PATH: /etc/wva/prometheus-token/token", ""},
		{"what has no successor", "guidellm: {enabled: true}\nprometheusAdapter: {enabled: true}", "", "", "guidellm has no effect: run guidellm"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := publishedDefaults(t)
			for path, value := range leaves("", values(t, test.values)) {
				set(v, path, value)
			}
			out := mustRender(t, chart, v, publishedRelease)
			if text := texts(t, out)[test.object]; test.object != "" && !strings.Contains(text, test.want) {
				t.Errorf("%s: got\n%s\nwant in it %q", test.object, text, test.want)
			}
			if !strings.Contains(out.Notes, test.note) {
				t.Errorf("the notes do not say %q:\n%s", test.note, out.Notes)
			}
		})
	}
}

func TestAModelThatNoManagerServesIsRefused(t *testing.T) {
	chart := load(t)
	const model = "models: [{modelID: m, namespace: b, variants: [{name: a, scaler: none}]}]\n"
	refused(t, chart, model+"watchNamespace: a", `model m is in namespace b, which no manager serves: this one serves a alone (watchNamespace). Set watchNamespace to b, or to "" for every namespace`)
	refused(t, chart, model+"wva: {namespaceScoped: true}", "this one serves workload-variant-autoscaler-system alone (watchNamespace, by wva.namespaceScoped)")
	mustRender(t, chart, values(t, model+"watchNamespace: b"), publishedRelease)
	mustRender(t, chart, values(t, model), publishedRelease)
}

// TestALongNameOfAReleaseKeepsItsVariant: earlier charts cut names at 63 characters, this one earlier.
func TestALongNameOfAReleaseKeepsItsVariant(t *testing.T) {
	release := Release{Name: "inference-of-team-a-in-production", Namespace: "wva"}
	v := publishedDefaults(t)
	set(v, "wva.controllerInstance", "blue")
	out := mustRender(t, load(t), v, release)
	const name = "inference-of-team-a-in-production-workload-variant-autoscaler"
	find[v1alpha1.VariantAutoscaling](t, out.Objects, "VariantAutoscaling/llm-d-autoscaler/"+name+"-va")
	find[autoscalingv2.HorizontalPodAutoscaler](t, out.Objects, "HorizontalPodAutoscaler/llm-d-autoscaler/"+name+"-hpa")
}

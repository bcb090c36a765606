package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestDefaultsHaveTheNamesOfTheContract(t *testing.T) {
	out := mustRender(t, load(t), nil, standard)
	d := find[appsv1.Deployment](t, out.Objects, "Deployment/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager")
	container := d.Spec.Template.Spec.Containers[0]
	if container.Name != "manager" {
		t.Errorf("got container %q, want manager", container.Name)
	}
	want := []string{
		"--health-probe-bind-address=:8081", "--leader-elect", "--leader-election-id=72dd1cf1.llm-d.ai",
		"--metrics-bind-address=:8443", "--metrics-secure=true", "--collector-backend=prometheus",
	}
	if diff := cmp.Diff(want, container.Args); diff != "" {
		t.Error(diff)
	}
	find[corev1.ConfigMap](t, out.Objects, "ConfigMap/workload-variant-autoscaler-system/workload-variant-autoscaler-variantautoscaling-config")
	if !strings.Contains(out.Notes, "rollout status deployment/workload-variant-autoscaler-controller-manager") {
		t.Errorf("the notes do not say what to check next:\n%s", out.Notes)
	}
}

func TestEverySampleRenders(t *testing.T) {
	chart := load(t)
	for name, v := range samples(t) {
		t.Run(name, func(t *testing.T) {
			out := mustRender(t, chart, v, standard)
			seen := map[string]bool{}
			for _, o := range out.Objects {
				if seen[Identity(o)] {
					t.Errorf("%s is made twice", Identity(o))
				}
				seen[Identity(o)] = true
				if len(o.GetName()) > 253 || o.GetLabels()["app.kubernetes.io/instance"] != standard.Name {
					t.Errorf("%s: name too long, or without the label of its release: %v", Identity(o), o.GetLabels())
				}
			}
		})
	}
}

func TestModelsAloneInstallNoManager(t *testing.T) {
	v := samples(t)["models-only"]
	kinds := map[string]int{}
	for _, o := range mustRender(t, load(t), v, standard).Objects {
		kinds[o.GetKind()]++
	}
	if diff := cmp.Diff(map[string]int{"VariantAutoscaling": 2, "ScaledObject": 1, "ServiceMonitor": 1}, kinds); diff != "" {
		t.Error(diff)
	}
}

// Every object by its text, and the notes: what a value may change.
func texts(t *testing.T, out *Output) map[string]string {
	t.Helper()
	all := map[string]string{"notes": out.Notes}
	for _, o := range out.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		all[Identity(o)] = string(text)
	}
	return all
}

// contexts are values in which others have something to act on; the first is
// that of most.
func contexts(t *testing.T) []map[string]any {
	all := []map[string]any{{}}
	sample := samples(t)
	for _, name := range slices.Sorted(maps.Keys(sample)) {
		all = append(all, sample[name])
	}
	for _, text := range []string{
		"serviceAccount: {name: wva}",
		"metrics: {monitor: {tokenSecret: token}}",
		"externalMetrics: {insecureSkipVerify: true}",
		"externalMetrics: {enabled: true, certificateSecret: a, annotations: {cert-manager.io/inject-ca-from: a/b}}",
		"externalScaler: {enabled: true, certificates: cert-manager, issuer: {name: a}}",
		"externalScaler: {enabled: true, issuer: {name: a}}\nmodels: [{modelID: m, variants: [{name: a, maxReplicas: 2, scaler: keda}]}]",
		"models: [{modelID: m, monitor: {selector: {a: b}}, variants: [{name: a, maxReplicas: 2}]}]",
		"models: [{modelID: m, monitor: {kind: PodMonitor, selector: {a: b}}, variants: [{name: a, maxReplicas: 2}]}]",
		"modelDefaults: {monitor: {kind: PodMonitor, selector: {a: b}}}\nmodels: [{modelID: m, variants: [{name: a, maxReplicas: 2}]}]",
	} {
		all = append(all, values(t, text))
	}
	return all
}

func TestEveryValueChangesTheOutput(t *testing.T) {
	t.Parallel()
	chart := load(t)
	all, _ := described(t)
	bases := contexts(t)
	before := make([]map[string]string, len(bases))
	for i, base := range bases {
		var err error
		if before[i], err = execute(chart, base, standard, checked); err != nil {
			t.Fatal(err)
		}
		withoutKeys(before[i])
	}
	changes := func(path string, other any) (bool, string) {
		var refusals []string
		for i, base := range bases {
			with := clone(t, base)
			set(with, path, other)
			after, err := execute(chart, with, standard, unchecked)
			withoutKeys(after)
			switch {
			case err != nil:
				refusals = append(refusals, err.Error())
			case !maps.Equal(before[i], after):
				return true, ""
			}
		}
		return false, strings.Join(refusals, "\n")
	}
	for _, v := range Leaves(all) {
		others := v.Alternatives()
		if len(others) == 0 {
			t.Errorf("%s: no other value is known: give examples in its @schema", v.Path)
		}
		for _, other := range others {
			if ok, refusals := changes(v.Path, other); !ok {
				t.Errorf("%s: %v changes nothing in any context\n%s", v.Path, other, refusals)
			}
		}
	}
}

// issued finds the certificates and keys that the chart makes, which are new each time.
var issued = regexp.MustCompile(`(?m)^(  (?:ca\.crt|tls\.crt|tls\.key)): .*$`)

// withoutKeys leaves out what differs from one rendering to the next.
func withoutKeys(files map[string]string) {
	for name, text := range files {
		files[name] = issued.ReplaceAllString(text, "$1")
	}
}

// clone copies values.
func clone(t testing.TB, v map[string]any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return values(t, string(text))
}

// set puts a value at a path.
func set(v map[string]any, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := v[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			v[key] = inner
		}
		v = inner
	}
	v[keys[len(keys)-1]] = value
}

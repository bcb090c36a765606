package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// plain returns what the chart makes without what says that Helm made it.
func plain(t testing.TB, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	objects := mustRender(t, load(t), values, standard).Objects
	for _, o := range objects {
		labels := o.GetLabels()
		for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
			delete(labels, label)
		}
		o.SetLabels(labels)
	}
	return objects
}

// build returns what kustomize makes of a folder.
func build(t testing.TB, dir string) []*unstructured.Unstructured {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// document returns objects as a generated file.
func document(t testing.TB, objects []*unstructured.Unstructured) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Generated from charts/workload-variant-autoscaler: CGO_ENABLED=0 go -C test/chart test . -update\n")
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + string(text))
	}
	return b.String()
}

// added returns the objects that values add to the defaults.
func added(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	there := byIdentity(plain(t, nil))
	return slices.DeleteFunc(plain(t, values(t, text)), func(o *unstructured.Unstructured) bool { return there[Identity(o)] != nil })
}

func byIdentity(objects []*unstructured.Unstructured) map[string]map[string]any {
	by := map[string]map[string]any{}
	for _, o := range objects {
		by[Identity(o)] = o.Object
	}
	return by
}

func TestTheKustomizeBaseIsGeneratedFromTheChart(t *testing.T) {
	files := map[string][]*unstructured.Unstructured{
		"prometheus/monitor.yaml":     added(t, "metrics: {monitor: {kind: ServiceMonitor}}"),
		"limited-mode/roles.yaml":     added(t, "limitedMode: true"),
		"scale/roles.yaml":            added(t, "rbac: {scale: true, markPods: true}"),
		"external-scaler/scaler.yaml": added(t, externalScaler),
		"openshift/bindings.yaml": slices.DeleteFunc(added(t, string(read(t, chartPath+"/ci/openshift-values.yaml"))), func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "ServiceMonitor"
		}),
	}
	for _, o := range plain(t, nil) {
		file := "manager/manager.yaml"
		switch o.GetKind() {
		case "NetworkPolicy":
			file = "network-policy/networkpolicy.yaml"
		case "ClusterRoleBinding", "RoleBinding":
			file = "rbac/bindings.yaml"
		case "ClusterRole", "Role":
			if strings.HasSuffix(o.GetName(), "-manager-role") {
				continue // generated from the markers: rbac/role.yaml
			}
			file = "rbac/user_roles.yaml"
		}
		files[file] = append(files[file], o)
	}
	for file, objects := range files {
		if len(objects) == 0 {
			t.Errorf("%s: nothing to write", file)
		}
		generated(t, root+"/config/"+file, document(t, objects))
	}
}

// externalScaler are the values whose objects config/external-scaler adds.
const externalScaler = "externalScaler: {enabled: true, certificates: secrets}"

// combination is a kustomization over folders of config, and the values of the chart
// that make the same.
type combination struct{ name, overlay, values string }

// combinations are those that are tried. Every folder of config is in one of them.
func combinations(t testing.TB) []combination {
	t.Helper()
	return []combination{
		{"default", "resources: [config/default]", ""},
		{"openshift", "resources: [config/openshift]", string(read(t, chartPath+"/ci/openshift-values.yaml"))},
		{"limited mode", "resources: [config/default]\ncomponents: [config/limited-mode]", "limitedMode: true"},
		{"scale", "resources: [config/default]\ncomponents: [config/scale]", "rbac: {scale: true, markPods: true}"},
		{"external scaler", "resources: [config/default]\ncomponents: [config/external-scaler]", externalScaler},
		{"prometheus", "resources: [config/default, config/prometheus]", "metrics: {monitor: {kind: ServiceMonitor}}"},
	}
}

func TestEveryFolderOfConfigIsTried(t *testing.T) {
	tried := map[string]bool{}
	var follow func(kustomization, from string)
	follow = func(kustomization, from string) {
		var k struct{ Resources, Components []string }
		if err := yaml.Unmarshal([]byte(kustomization), &k); err != nil {
			t.Fatal(err)
		}
		for _, path := range slices.Concat(k.Resources, k.Components) {
			dir := filepath.Join(from, path)
			if info, err := os.Stat(dir); err != nil || !info.IsDir() || tried[dir] {
				continue
			}
			tried[dir] = true
			follow(string(read(t, filepath.Join(dir, "kustomization.yaml"))), dir)
		}
	}
	for _, c := range combinations(t) {
		follow(c.overlay, root)
	}
	tried[filepath.Join(root, "config/samples")] = true // whose objects the API server is given
	files, err := filepath.Glob(root + "/config/*/kustomization.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kustomization below config: %v", err)
	}
	for _, file := range files {
		if !tried[filepath.Dir(filepath.Clean(file))] {
			t.Errorf("no combination has %s", filepath.Dir(file))
		}
	}
}

// TestChartAndKustomizeAgree compares whole objects: rules, arguments and all.
func TestChartAndKustomizeAgree(t *testing.T) {
	apart := []string{ // Helm has them beside its templates
		"Namespace//workload-variant-autoscaler-system", "CustomResourceDefinition//variantautoscalings.llmd.ai",
	}
	for _, test := range combinations(t) {
		t.Run(test.name, func(t *testing.T) {
			got := byIdentity(build(t, overlay(t, test.overlay)))
			for _, identity := range apart {
				if got[identity] == nil {
					t.Errorf("no %s among %v", identity, slices.Sorted(maps.Keys(got)))
				}
				delete(got, identity)
			}
			if diff := cmp.Diff(byIdentity(plain(t, values(t, test.values))), got); diff != "" {
				t.Errorf("(- chart, + kustomize)\n%s", diff)
			}
		})
	}
}

// overlay writes a kustomization over folders below the root of the repository.
func overlay(t testing.TB, text string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, top)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "config/", filepath.ToSlash(relative)+"/config/")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is generated")

// Paths from the package to what it reads and writes.
const (
	root      = "../.."
	chartPath = root + "/charts/workload-variant-autoscaler"
)

// standard is the release whose objects have the names of contract section 9.
var standard = Release{Name: "workload-variant-autoscaler", Namespace: "workload-variant-autoscaler-system"}

func load(t testing.TB) *v2.Chart {
	t.Helper()
	chart, err := loader.LoadDir(chartPath)
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// values reads values of the chart as YAML.
func values(t testing.TB, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// described returns the values of the chart and what is known of those before.
func described(t testing.TB) ([]*Value, *Published) {
	t.Helper()
	all, err := ReadValues(read(t, chartPath+"/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var published Published
	if err := yaml.UnmarshalStrict(read(t, chartPath+"/files/published.yaml"), &published); err != nil {
		t.Fatal(err)
	}
	return all, &published
}

// samples returns the sample values of the chart by name; "" are the defaults.
func samples(t testing.TB) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{"": {}}
	files, err := filepath.Glob(chartPath + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		found[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = values(t, string(read(t, file)))
	}
	if len(found) < 2 {
		t.Fatal("no sample values in ci")
	}
	return found
}

func mustRender(t testing.TB, chart *v2.Chart, values map[string]any, release Release) *Output {
	t.Helper()
	out, err := Render(chart, values, release)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// find returns the object of an identity (kind/namespace/name) as a type.
func find[T any](t testing.TB, objects []*unstructured.Unstructured, identity string) *T {
	t.Helper()
	var seen []string
	for _, o := range objects {
		if Identity(o) == identity {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
				t.Fatalf("reading %s: %s", identity, err)
			}
			return into
		}
		seen = append(seen, Identity(o))
	}
	t.Fatalf("no %s among %s", identity, strings.Join(seen, ", "))
	return nil
}

// generated compares a file with what it should hold, or writes it.
func generated(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, path)), want); diff != "" {
		t.Errorf("%s is not up to date (- there, + wanted): go -C test/chart test . -update\n%s", path, diff)
	}
}

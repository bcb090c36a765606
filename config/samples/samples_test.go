package samples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// values are those of a chart, and no manifest.
const values = "prometheus-adapter/values.yaml"

// invalid is what the API server refuses.
const invalid = "test-invalid-minmax.yaml"

// Where the samples are explained. What the quick start applies is tried by who
// runs it, as test/e2e does; no other page repeats a manifest.
const (
	pages      = "../../docs/integrations"
	quickStart = "../../docs/user-guide/quick-start.md"
)

// files returns the samples for the work with others, by their paths.
func files(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no samples")
	}
	return all
}

// manifests returns the objects of a file.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// ofKind returns the objects of a kind in all samples, by their file.
func ofKind(t *testing.T, kind string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, file := range files(t) {
		if file == values {
			continue
		}
		for _, o := range manifests(t, file) {
			if o.GetKind() == kind {
				found[file] = o
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no sample has a %s", kind)
	}
	return found
}

// at returns what stands at a path, nil for nothing.
func at(t *testing.T, object map[string]any, path ...string) any {
	t.Helper()
	found, _, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAnHPAThatReadsTheMetricSetsItExactly: the replicas are the metric, to the
// last one, in both directions.
func TestAnHPAThatReadsTheMetricSetsItExactly(t *testing.T) {
	exact := func(t *testing.T, object map[string]any, behavior ...string) {
		t.Helper()
		for _, direction := range []string{"scaleUp", "scaleDown"} {
			if got := at(t, object, append(slices.Clone(behavior), direction, "tolerance")...); got != "0" {
				t.Errorf("the tolerance of %s is %v, want \"0\"", direction, got)
			}
		}
	}
	for file, o := range ofKind(t, "HorizontalPodAutoscaler") {
		t.Run(file, func(t *testing.T) {
			exact(t, o.Object, "spec", "behavior")
			metric := at(t, o.Object, "spec", "metrics").([]any)[0].(map[string]any)
			for want, path := range map[string][]string{
				"wva_desired_replicas": {"external", "metric", "name"},
				"AverageValue":         {"external", "target", "type"},
				"1":                    {"external", "target", "averageValue"},
				o.GetNamespace():       {"external", "metric", "selector", "matchLabels", "exported_namespace"},
			} {
				if got := at(t, metric, path...); got != want {
					t.Errorf("%s is %v, want %q", strings.Join(path, "."), got, want)
				}
			}
		})
	}
	for file, o := range ofKind(t, "ScaledObject") {
		t.Run(file, func(t *testing.T) {
			exact(t, o.Object, "spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
			for _, trigger := range triggers(t, o) {
				if got := at(t, trigger, "metricType"); got != "AverageValue" {
					t.Errorf("metricType of the trigger is %v, want AverageValue", got)
				}
				if trigger["type"] != "prometheus" {
					continue // the manager says the rest
				}
				for want, path := range map[string][]string{"1": {"metadata", "threshold"}, "false": {"metadata", "ignoreNullValues"}} {
					if got := at(t, trigger, path...); got != want {
						t.Errorf("%s of the trigger is %v, want %q", strings.Join(path, "."), got, want)
					}
				}
				query, _ := at(t, trigger, "metadata", "query").(string)
				if want := `exported_namespace="` + o.GetNamespace() + `"`; !strings.HasPrefix(query, "max(wva_desired_replicas{") ||
					!strings.Contains(query, want) {
					t.Errorf("the query is %s: want the max of wva_desired_replicas with %s", query, want)
				}
			}
		})
	}
}

// triggers returns those of a ScaledObject.
func triggers(t *testing.T, o *unstructured.Unstructured) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, trigger := range at(t, o.Object, "spec", "triggers").([]any) {
		all = append(all, trigger.(map[string]any))
	}
	return all
}

// TestAnExternalScalerHasATriggerBesideItThatGoesOn: KEDA forgets the metric of one that
// it cannot reach, unless its fallback begins at once, and answers for no trigger then.
func TestAnExternalScalerHasATriggerBesideItThatGoesOn(t *testing.T) {
	external := 0
	for file, o := range ofKind(t, "ScaledObject") {
		kinds := map[any]bool{}
		for _, trigger := range triggers(t, o) {
			kinds[trigger["type"]] = true
		}
		if !kinds["external-push"] {
			continue
		}
		external++
		if !kinds["prometheus"] {
			t.Errorf("%s: no trigger of type prometheus beside that of type external-push", file)
		}
		least, fallback := at(t, o.Object, "spec", "minReplicaCount"), at(t, o.Object, "spec", "fallback")
		var want any
		if least != float64(0) { // where it is, a fallback would start the first replica
			want = map[string]any{"failureThreshold": float64(0), "replicas": least, "behavior": "currentReplicasIfHigher"}
		}
		if diff := cmp.Diff(want, fallback); diff != "" {
			t.Errorf("%s: the fallback (- want, + got)\n%s", file, diff)
		}
	}
	if external == 0 {
		t.Error("no sample has a trigger of type external-push")
	}
}

// TestEveryKeyOfATriggerIsRead: the definition takes any key under metadata, and what
// KEDA does not know it ignores without a word. The keys are those of prometheusMetadata
// in pkg/scalers/prometheus_scaler.go of v2.21.0, and authModes; those of
// externalScalerMetadata in external_scaler.go, and what the manager reads.
func TestEveryKeyOfATriggerIsRead(t *testing.T) {
	known := map[any][]string{
		"prometheus": {
			"serverAddress", "query", "queryParameters", "threshold", "activationThreshold", "namespace", "customHeaders",
			"ignoreNullValues", "unsafeSsl", "awsRegion", "timeout", "identityOwner", "authModes",
		},
		"external-push": {"scalerAddress", "enableTLS", "unsafeSsl", "variantName", "namespace"},
	}
	for file, o := range ofKind(t, "ScaledObject") {
		for _, trigger := range triggers(t, o) {
			metadata, _ := at(t, trigger, "metadata").(map[string]any)
			for key := range metadata {
				if !slices.Contains(known[trigger["type"]], key) {
					t.Errorf("%s: KEDA reads no %s under metadata of a trigger of type %s", file, key, trigger["type"])
				}
			}
		}
	}
}

// TestTheManagerUnderstandsTheSettingsOfSamples: a ConfigMap is not checked by the
// API server.
func TestTheManagerUnderstandsTheSettingsOfSamples(t *testing.T) {
	store := understood(t, "model-scale-to-zero-config.yaml")
	zero := store.Snapshot().Policy(scaling.ModelKey{Namespace: "production", ID: "meta-llama/Llama-3.1-70B-Instruct"}).ScaleToZero
	if zero.Enabled || zero.Retention != time.Hour {
		t.Errorf("the model in production: got %+v, want it never at zero, and an hour", zero)
	}
	windows := understood(t, "wva-schedule-config.yaml").Snapshot().Schedule()
	v := scaling.Variant{Key: scaling.VariantKey{Namespace: "production", Name: "llama"}}
	christmas := time.Date(2026, 12, 24, 23, 0, 0, 0, time.UTC)
	if got := windows.At(christmas).Of(v); len(windows) != 3 || got.Allow != scaling.AllowNone || got.Window != "year-end" {
		t.Errorf("%d windows, at Christmas %+v, want 3 and no change", len(windows), got)
	}
}

// understood returns a store with the ConfigMap of a sample, which has no findings.
func understood(t *testing.T, file string) *config.Store {
	t.Helper()
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: "workload-variant-autoscaler-system"})
	if err != nil {
		t.Fatal(err)
	}
	o := manifests(t, file)[0]
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	source := config.Source{Namespace: o.GetNamespace(), Name: o.GetName(), Data: data}
	for _, finding := range store.Apply([]config.Source{source}).Findings {
		t.Errorf("%s: the manager says %s", file, finding)
	}
	return store
}

// TestPagesAndSamplesBelongTogether: a page repeats no manifest, because no reader
// would try it; it names the file, which is there, and every file is named.
func TestPagesAndSamplesBelongTogether(t *testing.T) {
	link := regexp.MustCompile(`\]\(\.\./\.\./config/samples/([^)#]+)\)`)
	named := map[string]bool{}
	texts, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(texts, quickStart) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if page != quickStart && bytes.Contains(text, []byte("apiVersion:")) {
			t.Errorf("%s holds a manifest: it should be a sample", page)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			file := string(m[1])
			named[file] = true
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s names a sample that is not there: %v", page, err)
			}
		}
	}
	for _, file := range files(t) {
		if !named[file] {
			t.Errorf("no page names %s", file)
		}
	}
}

package v1alpha1_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// stored is an object as an older version left it.
type stored struct {
	definition string // in testdata/older
	manifest   string // in testdata
	spec       string // changes of the manifest's spec, as flow YAML
	status     string // as flow YAML
	// what remains of the status under this definition
	current *v1alpha1.CurrentAlloc
	desired int32
}

func storedObjects() map[string]stored {
	const (
		load     = `load: {arrivalRate: "10.50", avgInputTokens: "100", avgOutputTokens: "200"}`
		released = `currentAlloc: {accelerator: A100, numReplicas: 3, maxBatch: 256, variantCost: "120.00", itlAverage: "25.50", ttftAverage: "50.00", ` + load + `},
			desiredOptimizedAlloc: {lastRunTime: "2025-10-29T10:00:00Z", accelerator: A100, numReplicas: 4}`
		decided = `desiredOptimizedAlloc: {lastRunTime: "2025-11-13T10:00:00Z", numReplicas: 4}`
	)
	measured := &v1alpha1.CurrentAlloc{NumReplicas: 3, TTFTAverage: "50.00", ITLAverage: "25.50"}
	counted := &v1alpha1.CurrentAlloc{NumReplicas: 3}
	named := &v1alpha1.CurrentAlloc{NumReplicas: 3, VariantID: "default/default-A100-1", TTFTAverage: "50.0", ITLAverage: "25.5"}
	return map[string]stored{
		"v0.0.x":                               {"m0", "m0", ``, released, measured, 4},
		"v0.4.x":                               {"v0.4", "v0.4", ``, released, measured, 4},
		"October 2025, with load":              {"load", "s0", ``, `currentAlloc: {variantID: default/default-A100-1, numReplicas: 3, ttftAverage: "50.0", itlAverage: "25.5", ` + load + `}, ` + decided, named, 4},
		"October 2025":                         {"s0", "s0", ``, `currentAlloc: {numReplicas: 3}, ` + decided, counted, 4},
		"October 2025, bounds that contradict": {"s0", "s0", `minReplicas: 9`, `currentAlloc: {numReplicas: 3}, ` + decided, counted, 4},
		"November 2025":                        {"s1", "s1", ``, `currentAlloc: {numReplicas: 3}, desiredOptimizedAlloc: {numReplicas: 4, lastUpdate: {updateTime: "2025-11-13T10:00:00Z", numReplicasChanged: 1, reason: r}}`, counted, 4},
		"v0.5":                                 {"f", "f", ``, `desiredOptimizedAlloc: {accelerator: H100, numReplicas: 4}`, nil, 4},
		"v0.5, target without name":            {"f", "f", `scaleTargetRef: {kind: Deployment, name: ""}`, `desiredOptimizedAlloc: {accelerator: H100, numReplicas: 0}`, nil, 0},
	}
}

// older stores objects under each older definition, replaces the definition by
// this one, and then does what the autoscaler and its users do with them.
func (c *cluster) older(t *testing.T) {
	for name, o := range storedObjects() {
		t.Run(name, func(t *testing.T) {
			c.install(t, olderDefinition(t, o.definition))
			obj := o.object(t)
			c.makeNamespace(t, obj.Object)
			if err := c.Client.Create(t.Context(), obj); err != nil {
				t.Fatalf("creating it under the older definition: %v", err)
			}
			defer func() {
				if err := c.Client.Delete(t.Context(), obj); err != nil {
					t.Error(err)
				}
			}()
			obj.Object["status"] = o.olderStatus(t)
			if err := c.Client.Status().Update(t.Context(), obj); err != nil {
				t.Fatalf("writing its status under the older definition: %v", err)
			}
			if strings.Contains(o.status, "load:") {
				if _, ok, _ := unstructured.NestedMap(obj.Object, "status", "currentAlloc", "load"); !ok {
					t.Fatal("the older definition did not keep the load")
				}
			}

			c.install(t, definition(t))
			c.works(t, o, client.ObjectKeyFromObject(obj))
		})
	}
}

// works shows that an object that an older version stored is served, that its
// status and its spec can be written, and that what is no field is dropped.
func (c *cluster) works(t *testing.T, o stored, key client.ObjectKey) {
	t.Helper()
	var va v1alpha1.VariantAutoscaling
	if err := c.Client.Get(t.Context(), key, &va); err != nil {
		t.Fatalf("reading it: %v", err)
	}
	if diff := cmp.Diff(va.Status.CurrentAlloc, o.current); diff != "" {
		t.Errorf("currentAlloc (-got +want):\n%s", diff)
	}
	if got := va.Status.DesiredOptimizedAlloc; got == nil || got.NumReplicas != o.desired {
		t.Errorf("desiredOptimizedAlloc is %+v, want %d replicas", got, o.desired)
	}
	if len(va.Status.Conditions) != 1 {
		t.Errorf("got %d conditions, want 1", len(va.Status.Conditions))
	}
	if va.Target().Name == "" {
		t.Error("it has no target")
	}
	va.Status = v1alpha1.VariantAutoscalingStatus{
		CurrentAlloc:          &v1alpha1.CurrentAlloc{},
		DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{LastUpdate: &v1alpha1.LastUpdate{}},
		Actuation:             &v1alpha1.Actuation{},
		Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Unix(1767225600, 0),
		}},
	}
	if err := c.Client.Status().Update(t.Context(), &va); err != nil {
		t.Fatalf("writing its status: %v", err)
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	if err := c.Client.Get(t.Context(), key, stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored.Object["status"].(map[string]any)["currentAlloc"], any(map[string]any{"numReplicas": int64(0)})); diff != "" {
		t.Errorf("currentAlloc (-got +want):\n%s", diff)
	}
	va.Spec.MinReplicas, va.Spec.MaxReplicas = 1, new(int32(2))
	if err := c.Client.Update(t.Context(), &va); err != nil {
		t.Fatalf("writing its spec: %v", err)
	}
}

// object returns the object to store.
func (o stored) object(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	obj := parse(t, documents(t, filepath.Join("testdata", o.manifest+".yaml"))[0])
	maps.Copy(obj["spec"].(map[string]any), parse(t, []byte("{"+o.spec+"}")))
	obj["metadata"].(map[string]any)["namespace"] = "older"
	return &unstructured.Unstructured{Object: obj}
}

// olderStatus returns the status to store, with what every version has in it.
func (o stored) olderStatus(t *testing.T) map[string]any {
	t.Helper()
	return parse(t, []byte(`{`+o.status+`, actuation: {applied: true}, conditions: [{type: MetricsAvailable, status: "True",
		reason: MetricsFound, message: vLLM metrics found, observedGeneration: 1, lastTransitionTime: "2025-10-29T10:00:00Z"}]}`))
}

// olderDefinition returns the definition of an older version: its schema under
// the names that all versions share.
func olderDefinition(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "older", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	def := definition(t)
	def.Spec.Versions[0].Schema.OpenAPIV3Schema = decode[apiextensionsv1.JSONSchemaProps](t, text)
	return def
}

// install replaces the definition and waits until the server goes by it, which
// it does a moment after it has taken it.
func (c *cluster) install(t *testing.T, def *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	wantCurrent := cmp.Equal(def.Spec, definition(t).Spec)
	var definition apiextensionsv1.CustomResourceDefinition
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(def), &definition); err != nil {
		t.Fatal(err)
	}
	definition.Spec = def.Spec
	if err := c.Client.Update(t.Context(), &definition); err != nil {
		t.Fatalf("replacing the definition: %v", err)
	}
	for deadline := time.Now().Add(20 * time.Second); c.goesByCurrent(t) != wantCurrent; {
		if time.Now().After(deadline) {
			t.Fatal("the server does not go by the definition that it was given")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// goesByCurrent reports whether the server goes by this version's definition:
// no older one accepts a model alone and gives it bounds.
func (c *cluster) goesByCurrent(t *testing.T) bool {
	t.Helper()
	probe := &unstructured.Unstructured{Object: object(t, "probe", "")}
	err := c.Client.Create(t.Context(), probe, client.DryRunAll)
	_, bounded, _ := unstructured.NestedInt64(probe.Object, "spec", "minReplicas")
	return err == nil && bounded
}

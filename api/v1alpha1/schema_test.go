package v1alpha1_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
)

// celBudget is the cost that the API server allows to the rules of one object.
const celBudget = 10_000_000

// server does to an object what the API server does with our definition: it
// drops unknown fields, fills in defaults and validates.
type server struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return decode[apiextensionsv1.CustomResourceDefinition](t, crd.VariantAutoscalings())
}

func newServer(t *testing.T) *server {
	t.Helper()
	var props apiextensions.JSONSchemaProps
	v1 := definition(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		t.Fatal(err)
	}
	return &server{structural, validator, cel.NewValidator(structural, true, celBudget)}
}

// admit changes obj as the server would, and returns the fields it dropped and
// what it has against the object.
func (s *server) admit(t *testing.T, obj map[string]any) (dropped []string, errs string) {
	t.Helper()
	dropped = pruning.PruneWithOptions(obj, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(obj, s.structural)
	list := validation.ValidateCustomResource(nil, obj, s.validator)
	broken, _ := s.rules.Validate(t.Context(), nil, s.structural, obj, nil, celBudget)
	if err := append(list, broken...).ToAggregate(); err != nil {
		errs = err.Error()
	}
	return dropped, errs
}

// parse reads a document as the server does: whole numbers are integers.
func parse(t *testing.T, doc []byte) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON(doc)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestPublishedManifestsApplyUnchanged(t *testing.T) {
	s := newServer(t)
	for _, name := range validManifests() {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if dropped, errs := s.admit(t, parse(t, documents(t, name)[0])); len(dropped) > 0 || errs != "" {
				t.Errorf("dropped %q, refused with %q", dropped, errs)
			}
		})
	}
}

func TestStoredObjectWorksUnderThisDefinition(t *testing.T) {
	s := newServer(t)
	obj := parse(t, documents(t, "testdata/stored.yaml")[0])
	dropped, errs := s.admit(t, obj)
	if errs != "" {
		t.Fatalf("refused with %s", errs)
	}
	want := []string{
		"status.currentAlloc.accelerator", "status.currentAlloc.load",
		"status.currentAlloc.maxBatch", "status.currentAlloc.variantCost",
	}
	if diff := cmp.Diff(dropped, want); diff != "" {
		t.Errorf("dropped (-got +want):\n%s", diff)
	}
	var va v1alpha1.VariantAutoscaling
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &va); err != nil {
		t.Fatal(err)
	}
	if va.Status.CurrentAlloc.NumReplicas != 3 || va.Status.DesiredOptimizedAlloc.NumReplicas != 4 {
		t.Errorf("status lost its replicas: %+v", va.Status)
	}

	va.Status = v1alpha1.VariantAutoscalingStatus{
		CurrentAlloc:          &v1alpha1.CurrentAlloc{},
		DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{LastUpdate: &v1alpha1.LastUpdate{}},
		Actuation:             &v1alpha1.Actuation{},
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&va)
	if err != nil {
		t.Fatal(err)
	}
	if dropped, errs := s.admit(t, written); len(dropped) > 0 || errs != "" {
		t.Errorf("status written at zero: dropped %q, refused with %q", dropped, errs)
	}
}

func TestDefaults(t *testing.T) {
	obj := parse(t, []byte("spec: {modelID: m}"))
	newServer(t).admit(t, obj)
	want := map[string]any{"spec": map[string]any{"modelID": "m", "variantCost": "10", "minReplicas": int64(0)}}
	if diff := cmp.Diff(obj, want); diff != "" {
		t.Errorf("defaults (-got +want):\n%s", diff)
	}
}

func TestInvalidSampleIsRefused(t *testing.T) {
	doc := documents(t, filepath.Join(samples, "test-invalid-minmax.yaml"))[0]
	_, errs := newServer(t).admit(t, parse(t, doc))
	if want := "maxReplicas must be greater than or equal to minReplicas"; !strings.Contains(errs, want) {
		t.Errorf("got %q, want %q", errs, want)
	}
}

func TestPrinterColumns(t *testing.T) {
	column := func(name, kind, path string, priority int32) apiextensionsv1.CustomResourceColumnDefinition {
		return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: kind, JSONPath: path, Priority: priority}
	}
	want := []apiextensionsv1.CustomResourceColumnDefinition{
		column("Target", "string", ".spec.scaleTargetRef.name", 0),
		column("Model", "string", ".spec.modelID", 0),
		column("VariantID", "string", ".status.currentAlloc.variantID", 0),
		column("Accelerator", "string", ".status.desiredOptimizedAlloc.accelerator", 0),
		column("CurrentReplicas", "integer", ".status.currentAlloc.numReplicas", 0),
		column("Optimized", "integer", ".status.desiredOptimizedAlloc.numReplicas", 0),
		column("MetricsReady", "string", ".status.conditions[?(@.type=='MetricsAvailable')].status", 0),
		column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status", 0),
		column("Age", "date", ".metadata.creationTimestamp", 0),
		column("Reason", "string", ".status.desiredOptimizedAlloc.lastUpdate.reason", 1),
		column("Cost", "string", ".spec.variantCost", 1),
		column("Scaler", "string", ".status.actuation.scaler", 1),
	}
	if diff := cmp.Diff(definition(t).Spec.Versions[0].AdditionalPrinterColumns, want); diff != "" {
		t.Errorf("columns (-got +want):\n%s", diff)
	}
}

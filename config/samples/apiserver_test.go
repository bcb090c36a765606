package samples_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// tryOut has the API server check an object as if it were to be created, and
// refuse fields that its definition does not have.
func tryOut(t *testing.T, bed *testbed.Bed, o *unstructured.Unstructured) error {
	t.Helper()
	return bed.Client.Create(t.Context(), o, &client.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
}

func TestTheAPIServerAcceptsEverySample(t *testing.T) {
	bed := apitest.Start(t)
	define(t, bed)
	alone, err := filepath.Glob("*.yaml")
	if err != nil || len(alone) == 0 {
		t.Fatalf("there are no samples that need nothing else: %v", err)
	}
	for _, file := range slices.Concat(alone, files(t)) {
		switch file {
		case values: // TestReplicasFollowThroughPrometheusAdapter in test/e2e gives them to the adapter
			continue
		case "kustomization.yaml": // test/chart builds it
			continue
		case invalid:
			continue
		}
		t.Run(file, func(t *testing.T) {
			for _, o := range manifests(t, file) {
				if o.GetNamespace() == "" && o.GetKind() == v1alpha1.Kind {
					o.SetNamespace(metav1.NamespaceDefault)
				}
				if ns := o.GetNamespace(); ns != "" {
					namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
					if err := bed.Client.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
						t.Fatal(err)
					}
				}
				if err := tryOut(t, bed, o); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
	t.Run("but the one that is wrong", func(t *testing.T) {
		o := manifests(t, invalid)[0]
		o.SetNamespace(metav1.NamespaceDefault)
		const want = "maxReplicas must be greater than or equal to minReplicas"
		if err := tryOut(t, bed, o); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant in it %q", err, want)
		}
	})
	t.Run("and refuses what is misspelt", func(t *testing.T) {
		o := ofKind(t, "ScaledObject")["keda/scaledobject-zero.yaml"]
		spec := o.Object["spec"].(map[string]any)
		spec["pollInterval"] = spec["pollingInterval"]
		if err := tryOut(t, bed, o); !apierrors.IsBadRequest(err) {
			t.Errorf("got %v, want a bad request for pollInterval", err)
		}
	})
	t.Run("but not a metricType where KEDA does not read it", func(t *testing.T) {
		o := ofKind(t, "ScaledObject")["keda/scaledobject.yaml"]
		trigger := at(t, o.Object, "spec", "triggers").([]any)[0].(map[string]any)
		trigger["metadata"].(map[string]any)["metricType"] = trigger["metricType"]
		delete(trigger, "metricType")
		if err := tryOut(t, bed, o); err != nil {
			t.Errorf("the definition refuses it now, and docs/integrations/keda.md says that it does not: %v", err)
		}
	})
}

// define installs the definitions of others.
func define(t *testing.T, bed *testbed.Bed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	definitions, err := filepath.Glob("testdata/crd/*.yaml")
	if err != nil || len(definitions) == 0 {
		t.Fatal(errors.Join(err, errors.New("there are no definitions")))
	}
	for _, file := range definitions {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		def := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, def); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		def.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		if err := bed.Define(ctx, def); err != nil {
			t.Fatal(err)
		}
	}
}

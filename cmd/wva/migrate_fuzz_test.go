package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// FuzzMigrate looks at any objects that an older version, or another tool, left: nothing
// crashes, what is removed is gone, and nothing else has changed.
func FuzzMigrate(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"llmd.ai/v1alpha1","kind":"VariantAutoscaling","metadata":{"name":"v","labels":{"inference.optimization/modelName":"m"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u","controller":true}],"managedFields":[{"fieldsV1":{"f:status":{"f:currentAlloc":{"f:load":{},"f:maxBatch":{}}}}},null,3]},"status":{"currentAlloc":{"load":{},"accelerator":"x","maxBatch":1.5}}}`,
		`{"kind":"x","metadata":{"ownerReferences":3,"labels":{"a":1},"managedFields":{}},"status":[]}`, `{"kind":"x","status":{"currentAlloc":7}}`, `{"kind":"x","metadata":{"ownerReferences":[{"kind":7},"a",{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		va := &unstructured.Unstructured{}
		if va.UnmarshalJSON(data) != nil {
			return
		}
		before := va.DeepCopy()
		for _, step := range []struct {
			found  func(*unstructured.Unstructured) string
			remove func(*unstructured.Unstructured)
		}{{legacyOwners, dropLegacyOwners}, {modelNameLabel, dropModelNameLabel}} {
			if step.found(va) == "" {
				continue
			}
			step.remove(va)
			if left := step.found(va); left != "" {
				t.Fatalf("left after it was removed: %s", left)
			}
		}
		if staleStatus(va) != "" {
			forgetStaleStatus(va)
		}
		for _, w := range writtenAllocs(va) {
			for _, field := range staleFields {
				if _, ok := w["f:"+field]; ok {
					t.Fatalf("the managed fields have %s after it was forgotten", field)
				}
			}
		}
		if diff := cmp.Diff(before.Object["status"], va.Object["status"]); diff != "" {
			t.Fatalf("the status changed:\n%s", diff)
		}
		if diff := cmp.Diff(before.Object["spec"], va.Object["spec"]); diff != "" {
			t.Fatalf("the spec changed:\n%s", diff)
		}
	})
}

// FuzzOlderDefinition compares our definition with whatever a cluster has under its name.
func FuzzOlderDefinition(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"versions":[{"name":"v1alpha1","storage":true,"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"a":{"items":{"schema":{"properties":{"b":{}}}}}}}}}}}]}}`,
		`{"spec":{"versions":[{"name":"v1alpha1","storage":true,"schema":null},{"storage":true,"schema":{"openAPIV3Schema":{"additionalProperties":{"properties":{}}}}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	ours := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(`{spec: {versions: [{name: v1alpha1, storage: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {a: {}, c: {}}}}}}}]}}`), ours); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		theirs := &apiextensionsv1.CustomResourceDefinition{}
		if yaml.Unmarshal(data, theirs) != nil {
			return
		}
		if first, again := olderDefinition(ours, theirs), olderDefinition(ours, theirs); first != again {
			t.Fatalf("%q and %q of the same definition", first, again)
		}
		if same := olderDefinition(ours, ours); same != "" {
			t.Fatalf("our own definition is older: %s", same)
		}
	})
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// staleFields are the fields of status.currentAlloc that only older versions stored.
var staleFields = []string{"load", "accelerator", "maxBatch", "variantCost"}

// staleStatus returns which old fields the stored status of an object has, "" for none. Under this
// version's definition the API server does not show them. The object's managed fields still record
// that they were written; only forgetStaleStatus changes that.
func staleStatus(va *unstructured.Unstructured) string {
	var found []string
	shown, _, _ := unstructured.NestedMap(va.Object, "status", "currentAlloc")
	written := writtenAllocs(va)
	for _, field := range staleFields {
		_, ok := shown[field]
		for _, w := range written {
			_, is := w["f:"+field]
			ok = ok || is
		}
		if ok {
			found = append(found, field)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "stored status.currentAlloc has " + strings.Join(found, ", ")
}

// forgetStaleStatus removes the old fields from the managed fields. Writing the object under this
// version's definition drops the fields themselves.
func forgetStaleStatus(va *unstructured.Unstructured) {
	for _, w := range writtenAllocs(va) {
		for _, field := range staleFields {
			delete(w, "f:"+field)
		}
	}
}

// writtenAllocs returns, for each writer of an object, the fields of status.currentAlloc that it
// wrote. They are part of the object, not copies.
func writtenAllocs(va *unstructured.Unstructured) []map[string]any {
	managed, _, _ := unstructured.NestedFieldNoCopy(va.Object, "metadata", "managedFields")
	entries, _ := managed.([]any)
	var out []map[string]any
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		fields, _, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:status", "f:currentAlloc")
		if alloc, ok := fields.(map[string]any); ok {
			out = append(out, alloc)
		}
	}
	return out
}

// legacyOwners describes the owner that an older version set on an object, "" for none.
func legacyOwners(va *unstructured.Unstructured) string {
	for _, ref := range va.GetOwnerReferences() {
		if v1alpha1.LegacyOwner(ref) {
			return fmt.Sprintf("owned by Deployment %s, and deleted with it", ref.Name)
		}
	}
	return ""
}

func dropLegacyOwners(va *unstructured.Unstructured) {
	kept := slices.DeleteFunc(va.GetOwnerReferences(), v1alpha1.LegacyOwner)
	if len(kept) == 0 {
		unstructured.RemoveNestedField(va.Object, "metadata", "ownerReferences")
		return
	}
	va.SetOwnerReferences(kept)
}

func modelNameLabel(va *unstructured.Unstructured) string {
	if _, ok := va.GetLabels()[v1alpha1.LegacyLabelModelName]; !ok {
		return ""
	}
	return "label " + v1alpha1.LegacyLabelModelName + ", which is not read"
}

func dropModelNameLabel(va *unstructured.Unstructured) { dropLabel(va, v1alpha1.LegacyLabelModelName) }

func dropLabel(o *unstructured.Unstructured, key string) {
	unstructured.RemoveNestedField(o.Object, "metadata", "labels", key)
}

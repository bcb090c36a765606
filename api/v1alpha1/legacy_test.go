package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

func TestLegacyOwnerIsADeploymentThatControls(t *testing.T) {
	set := func(change func(*metav1.OwnerReference)) metav1.OwnerReference {
		ref := metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u", Controller: new(true), BlockOwnerDeletion: new(false),
		}
		change(&ref)
		return ref
	}
	tests := map[string]struct {
		ref  metav1.OwnerReference
		want bool
	}{
		"as it was set":         {set(func(*metav1.OwnerReference) {}), true},
		"blocking not stated":   {set(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = nil }), true},
		"blocking":              {set(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) }), false},
		"not the controller":    {set(func(r *metav1.OwnerReference) { r.Controller = new(false) }), false},
		"control not stated":    {set(func(r *metav1.OwnerReference) { r.Controller = nil }), false},
		"another kind":          {set(func(r *metav1.OwnerReference) { r.Kind = "StatefulSet" }), false},
		"a kind of that name":   {set(func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" }), false},
		"an impossible version": {set(func(r *metav1.OwnerReference) { r.APIVersion = "a/b/c" }), false},
	}
	for name, tt := range tests {
		if got := v1alpha1.LegacyOwner(tt.ref); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

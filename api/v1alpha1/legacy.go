package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels that older versions read or set and this one does not. They do no harm;
// wva migrate removes them.
const (
	// LegacyLabelModelName, on a VariantAutoscaling, repeated spec.modelID in the
	// samples up to v0.4.
	LegacyLabelModelName = "inference.optimization/modelName"

	// LegacyLabelConfigEnabled, on a Namespace, was needed in v0.5 for the
	// ConfigMaps of a namespace to be read. They are read without it.
	LegacyLabelConfigEnabled = "wva.llmd.ai/config-enabled"
)

// LegacyOwner reports whether an owner reference of a VariantAutoscaling is one
// that the versions of October and November 2025 set: the Deployment as
// controller, without blocking its deletion. With it the garbage collector
// deletes the object together with the Deployment; this version sets none, so
// that an object outlives its target and finds it again.
func LegacyOwner(ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	isTrue := func(b *bool) bool { return b != nil && *b }
	return err == nil && gv.Group == "apps" && ref.Kind == "Deployment" && isTrue(ref.Controller) && !isTrue(ref.BlockOwnerDeletion)
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: "llmd.ai", Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register this group version.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of this group version with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind is the kind of a VariantAutoscaling, as written in manifests and in the
// involved object of events.
const Kind = "VariantAutoscaling"

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &VariantAutoscaling{}, &VariantAutoscalingList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

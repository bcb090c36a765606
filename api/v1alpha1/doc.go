// Package v1alpha1 is the API of the Workload Variant Autoscaler: the resource
// VariantAutoscaling of group llmd.ai, its condition types and reasons, and the
// labels and annotations that change how the autoscaler treats an object.
//
// A VariantAutoscaling names one variant of a model: the same model on one kind
// of accelerator with one set of engine settings, deployed as something with a
// scale subresource. Its spec says what the variant serves, what it costs and
// how far it may be scaled; its status says how many replicas the autoscaler
// wants and why.
//
// The schema is the union of every published version. Fields of older versions
// stay readable, nothing in status is required, and what a newer version fills
// in is optional, so that a manifest applies unchanged and an object stored
// under an older definition keeps working after the definition is replaced.
//
// The package holds data and the defaults that follow from the data alone. What
// needs the cluster, such as an accelerator read from the target's node
// selector, is resolved by internal/discovery.
//
// +kubebuilder:object:generate=true
// +groupName=llmd.ai
package v1alpha1

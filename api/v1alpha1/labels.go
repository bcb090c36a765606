package v1alpha1

// Labels read by the autoscaler.
const (
	// LabelAcceleratorName, on a VariantAutoscaling, names its accelerator type
	// where the spec does not.
	LabelAcceleratorName = "inference.optimization/acceleratorName"

	// LabelControllerInstance, on a VariantAutoscaling, names the controller that
	// serves it. A controller started with CONTROLLER_INSTANCE serves the objects
	// whose label equals it and no others.
	LabelControllerInstance = "wva.llmd.ai/controller-instance"
)

// Annotations read by the autoscaler.
const (
	// AnnotationPaused, "true" on a VariantAutoscaling, freezes its decision.
	AnnotationPaused = "wva.llmd.ai/paused"

	// AnnotationExclude, "true" on a Namespace, leaves the namespace alone: its
	// VariantAutoscalings and its ConfigMaps.
	AnnotationExclude = "wva.llmd.ai/exclude"
)

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

	// AnnotationActuation, on a VariantAutoscaling, says who carries out its
	// decision: one of the values of ActuationMode.
	AnnotationActuation = "wva.llmd.ai/actuation"
)

// ActuationMode is the value of AnnotationActuation. The zero value is not a
// mode; an absent annotation means ActuationMetrics.
type ActuationMode string

const (
	// ActuationMetrics publishes the decision as a metric and leaves the scaling
	// to an HPA or KEDA. The default.
	ActuationMetrics ActuationMode = "metrics"

	// ActuationZero is ActuationMetrics, and also scales between 0 and 1 replicas
	// by the scale subresource, which an HPA does not.
	ActuationZero ActuationMode = "zero"

	// ActuationScale carries out every decision by the scale subresource.
	ActuationScale ActuationMode = "scale"
)

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

// LabelProbe, on a Deployment and on a HorizontalPodAutoscaler or ScaledObject, says that wva doctor
// --probe has made it and removes it. The annotations name the variant that is probed, and the time
// (RFC 3339) until which it may last. The autoscaler does not read them.
const (
	LabelProbe           = "wva.llmd.ai/probe"
	AnnotationProbeOf    = "wva.llmd.ai/probe-of"
	AnnotationProbeUntil = "wva.llmd.ai/probe-until"
)

// Annotations by which a HorizontalPodAutoscaler or ScaledObject is a variant without a
// VariantAutoscaling, as llm-d and KServe write them.
const (
	// AnnotationManaged, "true" on a HorizontalPodAutoscaler or ScaledObject, makes it a
	// variant: its name, its target and its bounds are the variant's.
	AnnotationManaged = "llm-d.ai/managed"

	// AnnotationModelID, on such an object, is the model that the target serves.
	AnnotationModelID = "llm-d.ai/model-id"

	// AnnotationVariantCost, on such an object, is what variantCost is in a spec.
	AnnotationVariantCost = "llm-d.ai/variant-cost"

	// RoleKey, an annotation of such an object or a label of its target's pod template, is
	// the part of a request that the pods serve: both, prefill, decode, or one of llm-d's
	// other roles.
	RoleKey = "llm-d.ai/role"
)

// AcceleratorUnknown is the label's value by which KServe says that it knows no accelerator.
const AcceleratorUnknown = "unknown"

// Annotations read by the autoscaler, and AnnotationMarked, which it sets.
const (
	// AnnotationPaused, "true" on a VariantAutoscaling, freezes its decision.
	AnnotationPaused = "wva.llmd.ai/paused"

	// AnnotationRole, on a VariantAutoscaling, is the part of each request that its pods serve: "both"
	// (the default), "prefill" or "decode". Without it the label RoleKey of the pods says so; with both,
	// they must agree.
	AnnotationRole = "wva.llmd.ai/role"

	// AnnotationApprove, "shrink" on a VariantAutoscaling or an annotated scaler, lets a
	// reduction wait for approval; "shrink;after=4h" for four hours at most.
	AnnotationApprove = "wva.llmd.ai/approve"

	// AnnotationApproved, on such an object, approves one reduction: "to=2;cycle=k7hw2cxd-12" is
	// down to two replicas, of the reduction that began to wait in that cycle. wva approve sets it.
	AnnotationApproved = "wva.llmd.ai/approved"

	// AnnotationActuation, on a VariantAutoscaling, says who carries out its decision:
	// "metrics" (the default), the scaler that reads the published decision; "zero", the same,
	// and the autoscaler itself from and to zero by the scale subresource; "scale",
	// the autoscaler alone; "advisory", on one variant of a model: the decisions on the model
	// are advice, what scales it today goes on, and nothing is carried out.
	AnnotationActuation = "wva.llmd.ai/actuation"

	// AnnotationMarked, on a pod, says that its annotation
	// controller.kubernetes.io/pod-deletion-cost is the autoscaler's: the pod should be
	// among the first that go. The value is the name of the VariantAutoscaling.
	AnnotationMarked = "wva.llmd.ai/marked"

	// AnnotationExclude, "true" on a Namespace, leaves the namespace alone: its
	// VariantAutoscalings and its ConfigMaps.
	AnnotationExclude = "wva.llmd.ai/exclude"
)

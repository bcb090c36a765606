package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VariantAutoscaling asks for one variant of a model to be scaled, and reports
// how many replicas of it the autoscaler wants.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=variantautoscalings,singular=variantautoscaling,shortName=va,scope=Namespaced
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.scaleTargetRef.name`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.modelID`
// +kubebuilder:printcolumn:name="VariantID",type=string,JSONPath=`.status.currentAlloc.variantID`
// +kubebuilder:printcolumn:name="Accelerator",type=string,JSONPath=`.status.desiredOptimizedAlloc.accelerator`
// +kubebuilder:printcolumn:name="CurrentReplicas",type=integer,JSONPath=`.status.currentAlloc.numReplicas`
// +kubebuilder:printcolumn:name="Optimized",type=integer,JSONPath=`.status.desiredOptimizedAlloc.numReplicas`
// +kubebuilder:printcolumn:name="MetricsReady",type=string,JSONPath=`.status.conditions[?(@.type=='MetricsAvailable')].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.desiredOptimizedAlloc.lastUpdate.reason`
// +kubebuilder:printcolumn:name="Cost",type=string,priority=1,JSONPath=`.spec.variantCost`
// +kubebuilder:printcolumn:name="Scaler",type=string,priority=1,JSONPath=`.status.actuation.scaler`
type VariantAutoscaling struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec says which variant this is, what it costs and how far it may be scaled.
	//
	// +required
	Spec VariantAutoscalingSpec `json:"spec"`

	// Status is what the autoscaler last saw and decided. It is written when its
	// meaning changes, not in every cycle.
	//
	// +optional
	Status VariantAutoscalingStatus `json:"status,omitempty,omitzero"`
}

// FromScaler reports whether va stands for a HorizontalPodAutoscaler or ScaledObject that is a
// variant by its annotations: its kind is then that of the scaler. There is no such
// VariantAutoscaling in the cluster.
func (va *VariantAutoscaling) FromScaler() bool { return va.Kind != "" && va.Kind != Kind }

// VariantAutoscalingList is a list of VariantAutoscalings.
//
// +kubebuilder:object:root=true
type VariantAutoscalingList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// Items are the VariantAutoscalings of the list.
	Items []VariantAutoscaling `json:"items"`
}

// VariantAutoscalingSpec describes one variant of a model.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || !has(self.minReplicas) || self.maxReplicas >= self.minReplicas",message="maxReplicas must be greater than or equal to minReplicas"
type VariantAutoscalingSpec struct {
	// ScaleTargetRef names what is scaled, in the namespace of this object: any
	// kind with a scale subresource. Absent: the Deployment with this object's
	// own name.
	//
	// +optional
	ScaleTargetRef *ScaleTargetRef `json:"scaleTargetRef,omitempty"`

	// ModelID is the name under which the model is served, as in the label
	// model_name of its metrics. Together with the namespace it identifies the
	// model; variants with the same pair share its load.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	ModelID string `json:"modelID"`

	// VariantID identifies the variant as {modelID}-{accelerator}-{count}.
	// Absent: composed from those three.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^.+-[A-Za-z0-9_-]+-[1-9][0-9]*$`
	VariantID string `json:"variantID,omitempty"`

	// Accelerator is the type of accelerator a replica runs on, for example A100
	// or MI300X. Absent: the label inference.optimization/acceleratorName, else
	// the first acc of modelProfile, else the GPU product in the target's node
	// selector or affinity, else unknown.
	//
	// +optional
	Accelerator string `json:"accelerator,omitempty"`

	// AcceleratorCount is the number of accelerators of one replica. Absent: the
	// sum of the GPU resource requests of one replica, else the accCount of
	// modelProfile for this variant's accelerator, else 1.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	AcceleratorCount *int32 `json:"acceleratorCount,omitempty"`

	// SLOClassRef names the service class that holds this model's latency
	// objectives. Absent: the class is looked up by namespace and model.
	//
	// +optional
	SLOClassRef *SLOClassRef `json:"sloClassRef,omitempty"`

	// VariantProfile holds the measured speed of one replica. Absent: the entry
	// of modelProfile for this variant's accelerator.
	//
	// +optional
	VariantProfile *VariantProfile `json:"variantProfile,omitempty"`

	// ModelProfile is the shape of the profile up to v0.4, one entry per
	// accelerator. Read where variantProfile is absent.
	//
	// +optional
	ModelProfile *ModelProfile `json:"modelProfile,omitempty"`

	// VariantCost is the cost of one replica per hour, a decimal number in the
	// unit of the user's choice. The default "10" counts as not set: a unit cost
	// of the accelerator wins over it.
	//
	// +optional
	// +kubebuilder:default="10"
	// +kubebuilder:validation:Pattern=`^\d+(\.\d+)?$`
	VariantCost string `json:"variantCost,omitempty"`

	// MinReplicas is the least number of replicas. Only a variant with 0 can be
	// scaled to zero.
	//
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the largest number of replicas, not below minReplicas.
	// Absent: unbounded.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
}

// ScaleTargetRef names the object whose scale subresource carries the replicas
// of a variant.
type ScaleTargetRef struct {
	// APIVersion is the group and version of the target. Empty: apps/v1.
	//
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind is the kind of the target, for example Deployment.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`

	// Name is the name of the target in the namespace of the VariantAutoscaling.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// SLOClassRef names a service class: a key of a ConfigMap.
type SLOClassRef struct {
	// Name is the name of the ConfigMap.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Key is the key within the ConfigMap.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// VariantProfile is the measured speed of one replica of the variant.
type VariantProfile struct {
	// MaxBatchSize is the number of requests a replica serves at the same time
	// (max_num_seqs of vLLM). Absent: not known.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxBatchSize *int32 `json:"maxBatchSize,omitempty"`

	// PerfParms are the coefficients of the latency model. Absent: not known.
	//
	// +optional
	PerfParms *PerfParms `json:"perfParms,omitempty"`
}

// PerfParms are the coefficients of the linear latency model of a replica that
// serves n requests at the same time: ITL = alpha + beta*n and
// prefill = gamma + delta*tokens*n, both in ms. The values are decimal numbers
// written as strings.
type PerfParms struct {
	// DecodeParms holds alpha [ms] and beta [ms per concurrent request].
	//
	// +optional
	// +kubebuilder:validation:MinProperties=1
	DecodeParms map[string]string `json:"decodeParms,omitempty"`

	// PrefillParms holds gamma [ms] and delta [ms per input token and concurrent
	// request].
	//
	// +optional
	// +kubebuilder:validation:MinProperties=1
	PrefillParms map[string]string `json:"prefillParms,omitempty"`
}

// ModelProfile is the older shape of the profile: one entry per accelerator the
// model can run on.
type ModelProfile struct {
	// Accelerators are the profiled accelerators; the first one is the variant's
	// where nothing else names it.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Accelerators []AcceleratorProfile `json:"accelerators"`
}

// AcceleratorProfile is the measured speed of one replica on one accelerator.
type AcceleratorProfile struct {
	// Acc is the type of the accelerator, for example A100.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Acc string `json:"acc"`

	// AccCount is the number of accelerators of one replica. Absent: not stated.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	AccCount *int32 `json:"accCount,omitempty"`

	// PerfParms are the coefficients of the latency model. Absent: not known.
	//
	// +optional
	PerfParms *PerfParms `json:"perfParms,omitempty"`

	// MaxBatchSize is the number of requests a replica serves at the same time.
	// Absent: not known.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxBatchSize *int32 `json:"maxBatchSize,omitempty"`
}

// VariantAutoscalingStatus is what the autoscaler last saw and decided. No field
// is required, and none holds the load: that is read from the metrics in each
// cycle and never stored.
type VariantAutoscalingStatus struct {
	// CurrentAlloc is what ran when the status was written. Absent: not known yet.
	//
	// +optional
	CurrentAlloc *CurrentAlloc `json:"currentAlloc,omitempty"`

	// DesiredOptimizedAlloc is the decision that holds. Absent: none was ever made.
	//
	// +optional
	DesiredOptimizedAlloc *OptimizedAlloc `json:"desiredOptimizedAlloc,omitempty"`

	// Actuation says whether the decision has been carried out, and who is to do so.
	// Absent: there is none.
	//
	// +optional
	Actuation *Actuation `json:"actuation,omitempty"`

	// Conditions are what can be said of the object: TargetResolved,
	// MetricsAvailable, OptimizationReady, ScalerFollowing and Ready, which sums
	// them up; ConfigurationValid; DeploymentTargetConflict while there is one;
	// ChangesAllowed while a reduction waits for approval or a freeze window holds;
	// WithinBudget while the object is not served, being beyond the budget of its
	// namespace.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Facts name, by the type of a condition, the fact that its message puts into words:
	// the objects, fields and values that it is about. The manager compares facts, never
	// messages. Absent: the type and the reason of the condition say it all.
	//
	// +optional
	Facts map[string]string `json:"facts,omitempty"`
}

// CurrentAlloc is what ran when the status was written.
type CurrentAlloc struct {
	// VariantID identifies the variant as {modelID}-{accelerator}-{count}.
	//
	// +optional
	VariantID string `json:"variantID,omitempty"`

	// NumReplicas is the number of replicas of the target, ready or pending, in
	// the unit of its scale subresource.
	//
	// +optional
	NumReplicas int32 `json:"numReplicas"`

	// TTFTAverage is the mean time to first token in ms with two decimals, as of
	// the last write. Empty: not known.
	//
	// +optional
	TTFTAverage string `json:"ttftAverage,omitempty"`

	// ITLAverage is the mean inter-token latency in ms with two decimals, as of
	// the last write. Empty: not known.
	//
	// +optional
	ITLAverage string `json:"itlAverage,omitempty"`
}

// OptimizedAlloc is a decision of the autoscaler.
type OptimizedAlloc struct {
	// LastRunTime is when the decision was last confirmed, as of the last write.
	//
	// +optional
	LastRunTime *metav1.Time `json:"lastRunTime,omitempty"`

	// Accelerator is the type of accelerator of the variant. Empty: unknown.
	//
	// +optional
	Accelerator string `json:"accelerator,omitempty"`

	// NumReplicas is the number of replicas wanted, 0 or more.
	//
	// +optional
	NumReplicas int32 `json:"numReplicas"`

	// LastUpdate describes the last change of the decision. Absent: never changed.
	//
	// +optional
	LastUpdate *LastUpdate `json:"lastUpdate,omitempty"`
}

// LastUpdate describes the last change of a decision. It moves only when the
// number of replicas or the reason does.
type LastUpdate struct {
	// UpdateTime is when the decision changed.
	//
	// +optional
	UpdateTime *metav1.Time `json:"updateTime,omitempty"`

	// NumReplicasChanged is the number of replicas wanted minus the number wanted
	// before; 0 where only the reason changed.
	//
	// +optional
	NumReplicasChanged int32 `json:"numReplicasChanged"`

	// Reason says why the number of replicas is what it is: that of the step of
	// the decision that settled it, for example Saturated or AboveMax.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Actuation says whether a decision has been carried out, and who is to do so.
type Actuation struct {
	// Applied is true while the target has as many replicas as were decided.
	//
	// +optional
	Applied bool `json:"applied"`

	// Scaler is who sets the replicas of the target: HorizontalPodAutoscaler/NAME,
	// ScaledObject/NAME, wva for the manager itself, wva/zero for the manager from and
	// to zero alone; several are separated by commas. "none" while none does. Empty:
	// not known.
	//
	// +optional
	Scaler string `json:"scaler,omitempty"`
}

// Target returns what the variant scales, with the defaults filled in: the
// Deployment of the object's own name where the spec names none, and apps/v1
// where it names no API version.
func (va *VariantAutoscaling) Target() ScaleTargetRef {
	var ref ScaleTargetRef
	if va.Spec.ScaleTargetRef != nil {
		ref = *va.Spec.ScaleTargetRef
	}
	return ScaleTargetRef{
		APIVersion: cmp.Or(ref.APIVersion, "apps/v1"),
		Kind:       cmp.Or(ref.Kind, "Deployment"),
		Name:       cmp.Or(ref.Name, va.Name),
	}
}

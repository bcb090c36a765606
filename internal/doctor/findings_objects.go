package doctor

// objectsTable are the findings about the objects of a variant.
var objectsTable = []Entry{
	{
		Code: "WVA0201", Name: "target-not-found", Sentence: "The scale target does not exist",
		Means: "The last decision stays published, and no replica changes.",
		Seen:  "no object of the kind and the name of scaleTargetRef is in the namespace, or it has no scale subresource",
		Mend:  "kubectl get deployments,statefulsets -n NAMESPACE", Advice: "Correct spec.scaleTargetRef, or create the target.",
		Related: []string{"TargetResolved TargetNotFound"},
	},
	{
		Code: "WVA0202", Name: "another-controller-instance", Sentence: "No manager that runs serves the object's controller instance",
		Means:   "No manager decides for the variant.",
		Seen:    "the label wva.llmd.ai/controller-instance differs from the --controller-instance of every manager, or the manager that answers does not know the variant",
		Mend:    "kubectl label KIND NAME -n NAMESPACE --overwrite wva.llmd.ai/controller-instance=INSTANCE",
		Advice:  "An empty instance of the manager serves every object.",
		Related: []string{"alert WVAInert"},
	},
	{
		Code: "WVA0203", Name: "namespace-left-alone", Sentence: "No manager serves the namespace",
		Means:   "No manager decides for the variants of the namespace.",
		Seen:    "the namespace has the annotation wva.llmd.ai/exclude, or every manager watches another namespace (--watch-namespace)",
		Mend:    "kubectl annotate namespace NAMESPACE wva.llmd.ai/exclude-",
		Related: []string{"event NotServed", "alert WVAInert"},
	},
	{
		Code: "WVA0204", Name: "accelerator-unknown", Sentence: "The accelerator of the variant is not known",
		Means:   "Unit costs, stock, quotas and profiles of accelerators do not apply to the variant.",
		Seen:    "neither spec.accelerator, nor the label inference.optimization/acceleratorName, nor the profile, nor the node selector of the target names one",
		Mend:    "kubectl label KIND NAME -n NAMESPACE inference.optimization/acceleratorName=TYPE",
		Related: []string{"OptimizationReady OptimizationSucceeded"}, Behind: []Code{"WVA0201"},
	},
	{
		Code: "WVA0205", Name: "no-service-class", Sentence: "No service class holds objectives for the model",
		Means:   "The model is decided without latency objectives, by saturation.",
		Seen:    "the engine of the model needs objectives and no class has a row for it, or a class names another model that is spelt nearly the same",
		Mend:    "kubectl edit configmap service-classes-config -n SYSTEM",
		Related: []string{"ConfigurationValid ServiceClassMissing"},
	},
	{
		Code: "WVA0206", Name: "profile-of-another-accelerator", Sentence: "The profile of the variant is for another accelerator, or is missing",
		Means: "The engine has no coefficients for this variant, and tokens or spare capacity decide.",
		Seen:  "spec.modelProfile has entries, and none is for the accelerator of the variant; or the manager reports ProfileMissing",
		Mend:  "wva profile NAME -n NAMESPACE", Advice: "Add an entry of spec.modelProfile for the accelerator, or spec.variantProfile.",
		Related: []string{"ConfigurationValid ProfileMissing"}, Behind: []Code{"WVA0204"},
	},
	{
		Code: "WVA0207", Name: "two-variants-on-a-target", Sentence: "Several variants name one target",
		Means: "The oldest one is decided, the others are suppressed.",
		Seen:  "two objects in the namespace have the same scaleTargetRef",
		Mend:  "kubectl delete KIND NAME -n NAMESPACE", Advice: "Delete one, or let it name another target.",
		Related: []string{"DeploymentTargetConflict SuppressedDueToConflict", "event TargetConflict"},
	},
	{
		Code: "WVA0208", Name: "configuration-invalid", Sentence: "A value of the configuration is not accepted",
		Means:   "The last good value, or the default, is in force instead.",
		Seen:    "a ConfigMap that the manager reads has an entry that wva config check refuses, or the manager reports InvalidConfiguration",
		Mend:    "kubectl edit CONFIG",
		Related: []string{"ConfigurationValid InvalidConfiguration", "event InvalidConfiguration"}, Behind: []Code{"WVA0209", "WVA0210"},
	},
	{
		Code: "WVA0209", Name: "cost-is-no-number", Sentence: "The cost of the variant is not a number",
		Means: "An annotated scaler is held until it is; the cost of a VariantAutoscaling counts as not set.",
		Seen:  "spec.variantCost or the annotation llm-d.ai/variant-cost is not a decimal number of 0 or more",
		Mend:  "kubectl annotate KIND NAME -n NAMESPACE --overwrite llm-d.ai/variant-cost=COST", Advice: "Of a VariantAutoscaling: spec.variantCost.",
		Related: []string{"OptimizationReady Held", "ConfigurationValid InvalidConfiguration"},
	},
	{
		Code: "WVA0210", Name: "model-id-missing", Sentence: "The model ID of an annotated scaler is missing",
		Means:   "The variant is held at what runs.",
		Seen:    "the annotation llm-d.ai/model-id is absent or empty on a scaler with llm-d.ai/managed",
		Mend:    "kubectl annotate KIND NAME -n NAMESPACE --overwrite llm-d.ai/model-id=MODEL",
		Related: []string{"OptimizationReady Held"},
	},
}

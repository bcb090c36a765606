package doctor

// probeTable are the findings of a probe, and of objects that a probe left.
var probeTable = []Entry{
	{
		Code: "WVA0901", Name: "not-probed", Sentence: "The way of this variant's decision could not be probed",
		Means: "The checks that only read were made. Nothing of a probe is left.",
		Seen:  "another probe of the variant runs, or the variant has no scaler, several, a paused one, or one that reads no external metric, or the API server refuses the objects of the probe",
		Mend:  "kubectl get hpa,deployment -n NAMESPACE -l wva.llmd.ai/probe", Advice: "The evidence says what is in the way; where it has a finding of its own, mend that first.",
	},
	{
		Code: "WVA0902", Name: "probe-not-allowed", Sentence: "The user may not make what a probe needs",
		Means: "Nothing was created.",
		Seen:  "a SelfSubjectAccessReview of a right is denied; the evidence names each right",
		Mend:  "kubectl create role wva-probe -n NAMESPACE --verb=create,get,delete --resource=deployments.apps,SCALERS && kubectl create rolebinding wva-probe -n NAMESPACE --role=wva-probe --user=USER", Advice: "As a manifest: docs/user-guide/troubleshooting.md.",
	},
	{
		Code: "WVA0903", Name: "probe-no-decision", Sentence: "The way is broken before the decision: there is none that could be sent",
		Means: "No scaler learns a number of this variant.",
		Seen:  "neither the manager that leads nor the status of the object has a decision on the variant",
		Mend:  "wva explain NAME -n NAMESPACE", Advice: "The findings of the installation, the object and the decision say why.",
		Related: []string{"alert WVAInert"},
	},
	{
		Code: "WVA0904", Name: "probe-not-served", Sentence: "The way is broken at the External Metrics API: it has no number for the scaler",
		Means: "An HPA with the selector of this scaler reads nothing and keeps the replicas that it has.",
		Seen:  "the API answers the metric and the selector of the scaler with an error, with no item, or with another number than the one that was sent",
		Mend:  `kubectl get --raw "/apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/METRIC"`, Advice: "The evidence has the answer of the API.",
		Related: []string{"ScalerFollowing HPANotReadingMetric"},
	},
	{
		Code: "WVA0905", Name: "probe-not-read", Sentence: "The way is broken at the scaler: one of the same shape does not read the number",
		Means: "The scaler of the variant reads nothing either, and keeps the replicas that it has.",
		Seen:  "the probe's own scaler says that it computes no number, or KEDA makes no HPA of it, or nothing looks at it within the time limit",
		Mend:  "kubectl describe SCALERKIND SCALER -n NAMESPACE", Advice: "The evidence has the conditions of the probe's scaler. Where nothing looks at it, the HPA controller or KEDA does not run.",
		Related: []string{"ScalerFollowing HPANotReadingMetric"},
	},
	{
		Code: "WVA0906", Name: "probe-not-set", Sentence: "The way is broken at the target: a scaler of the same shape reads the number and does not set it",
		Means: "The scaler of the variant does not follow decisions in that direction either.",
		Seen:  "the replicas of the probe's own target stay as they were, or become another number, although its scaler has read a value",
		Mend:  "kubectl describe SCALERKIND SCALER -n NAMESPACE", Advice: "Mostly its behavior: selectPolicy Disabled, or a policy that allows no step.",
		Related: []string{"ScalerFollowing HPALimited"},
	},
	{
		Code: "WVA0907", Name: "probe-left", Sentence: "Objects of a probe are left",
		Means: "They have no pods and scale nothing of a variant. The next probe of the namespace removes them.",
		Seen:  "a Deployment, HorizontalPodAutoscaler or ScaledObject has the label wva.llmd.ai/probe, and its time is over",
		Mend:  "kubectl delete scaledobject,hpa,deployment -n NAMESPACE -l wva.llmd.ai/probe", Advice: "A probe that is killed leaves them; one that is interrupted does not. Where KEDA is not installed: without scaledobject.",
	},
	{
		Code: "WVA0908", Name: "scale-not-settable", Sentence: "The replicas of the target may not be set",
		Means: "The manager, which sets them itself here, does not carry out decisions on this variant.",
		Seen:  "a dry run that sets the replicas of the target by its scale subresource is refused, or a SubjectAccessReview of the manager's account for it is denied",
		Mend:  "kubectl auth can-i update RESOURCE --subresource=scale -n NAMESPACE --as=system:serviceaccount:ACCOUNT", Advice: "A role for it: docs/user-guide/actuation.md. An admission webhook that refuses it names itself in the evidence.",
	},
	{
		Code: "WVA0909", Name: "gateway-no-answer", Sentence: "A real request to the model was not answered",
		Means: "Users of this gateway have no answer from the model either.",
		Seen:  "POST /v1/completions at the gateway has no connection, an error, or no token within the time limit",
		Mend:  "kubectl get gateway,httproute,pods -n NAMESPACE", Advice: "Check the URL and --model: a gateway may know the model by another name than the variant. No credentials are sent.",
	},
	{
		Code: "WVA0910", Name: "gateway-late", Sentence: "A real request missed the TTFT objective of the model",
		Means: "One request is no measurement of the attainment; several in a row that miss it are.",
		Seen:  "the first token of the probe's request came later than the TTFT objective of its service class",
		Mend:  "wva explain NAME -n NAMESPACE", Advice: "Where the load is low, compare with the TTFT that wva explain shows: the gateway and the network are in what the probe measures.",
	},
}

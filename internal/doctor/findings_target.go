package doctor

// targetTable are the findings about targets, their pods and the network.
var targetTable = []Entry{
	{
		Code: "WVA0701", Name: "pods-unschedulable", Sentence: "Pods of the target find no node",
		Means: "Replicas that were ordered do not come, and after a minute they stop counting.",
		Seen:  "the condition PodScheduled of a pod is False with the reason Unschedulable; the evidence is the scheduler's message",
		Mend:  "kubectl describe pod POD -n NAMESPACE", Advice: "Free accelerators, tolerations, node selectors, an autoscaler of nodes.",
		Related: []string{"ScalerFollowing PodsUnschedulable", "event NotFollowed", "alert WVACapacityExhausted"},
	},
	{
		Code: "WVA0702", Name: "pods-refused", Sentence: "A quota or an admission webhook refuses pods of the target",
		Means:   "The target has the replicas in its spec, and no pods for them.",
		Seen:    "the condition ReplicaFailure of the Deployment, or an event FailedCreate, has the words of the refusal",
		Mend:    "kubectl describe resourcequota -n NAMESPACE",
		Related: []string{"ScalerFollowing TargetNotMoving", "event NotFollowed"},
	},
	{
		Code: "WVA0703", Name: "image-not-pulled", Sentence: "The image of a pod cannot be pulled",
		Means:   "The replica never starts.",
		Seen:    "a container of a pod waits with ErrImagePull, ImagePullBackOff or InvalidImageName",
		Mend:    "kubectl describe pod POD -n NAMESPACE",
		Related: []string{"ScalerFollowing PodsNotReady"},
	},
	{
		Code: "WVA0704", Name: "pods-not-ready", Sentence: "Pods of the target do not become Ready",
		Means:   "Replicas that were ordered do not serve. After twice the usual start-up others are ordered in their place.",
		Seen:    "a container of a pod crashes again and again, or a pod runs and is not Ready for longer than is usual, which the manager knows, else ten minutes",
		Mend:    "kubectl describe pod POD -n NAMESPACE && kubectl logs POD -n NAMESPACE --tail=50",
		Related: []string{"ScalerFollowing PodsNotReady", "event NotFollowed", "alert WVAReplicasNotReady"}, Behind: []Code{"WVA0701", "WVA0703"},
	},
	{
		Code: "WVA0705", Name: "foreign-deletion-cost", Sentence: "Another writer sets pod-deletion-cost",
		Means: "Where the manager marks the pods that should go first, the other writer undoes it, or it the other's.",
		Seen:  "a pod has controller.kubernetes.io/pod-deletion-cost and not the annotation wva.llmd.ai/marked, and the manager sets the replicas of its target (wva.llmd.ai/actuation: scale)",
		Mend:  "kubectl get pod POD -n NAMESPACE -o yaml --show-managed-fields | grep -B30 pod-deletion-cost",
	},
	{
		Code: "WVA0706", Name: "target-not-moving", Sentence: "The target does not get the replicas decided on",
		Means: "The scaler reads the decision, and spec.replicas stays another number.",
		Seen:  "the manager reports TargetNotMoving: a scale that may not be written, or another writer of spec.replicas such as a tool that applies manifests",
		Mend:  "kubectl get TARGETKIND TARGET -n NAMESPACE -o yaml --show-managed-fields | grep -B20 'f:replicas'", Advice: "A tool that applies manifests must leave spec.replicas out.",
		Related: []string{"ScalerFollowing TargetNotMoving", "event NotFollowed", "alert WVANotFollowed"},
		Behind:  []Code{"WVA0601", "WVA0602", "WVA0603", "WVA0604", "WVA0605", "WVA0606", "WVA0607", "WVA0608", "WVA0609", "WVA0610", "WVA0611", "WVA0701", "WVA0702"},
	},
	{
		Code: "WVA0801", Name: "policy-on-pods", Sentence: "A NetworkPolicy keeps Prometheus from the pods of the target",
		Means: "Prometheus cannot scrape the pods.",
		Seen:  "the NetworkPolicies that select a pod allow no traffic to its metrics port, or none from the namespace of Prometheus",
		Mend:  "kubectl describe networkpolicy POLICY -n NAMESPACE", Advice: "Add an ingress rule for the metrics port from the namespace of Prometheus. Whether the cluster enforces policies is not known.",
		Related: []string{"MetricsAvailable MetricsMissing", "MetricsAvailable MetricsStale"},
	},
	{
		Code: "WVA0802", Name: "policy-on-manager", Sentence: "A NetworkPolicy is in the way of the manager",
		Means: "Prometheus does not scrape the manager, External Metrics are not reached, or the manager does not reach Prometheus.",
		Seen:  "the NetworkPolicies that select the manager's pods allow no traffic to one of its ports, or none to the namespace of Prometheus",
		Mend:  "kubectl describe networkpolicy POLICY -n SYSTEM", Advice: "networkPolicy of the chart; whether the cluster enforces policies is not known.",
	},
}

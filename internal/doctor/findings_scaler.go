package doctor

// scalerTable are the findings about the scaler of a target.
var scalerTable = []Entry{
	{
		Code: "WVA0601", Name: "no-scaler", Sentence: "Nothing scales the target on the decision",
		Means: "The decision is published and carried out by none.",
		Seen:  "no HorizontalPodAutoscaler and no ScaledObject names the target, or the one that does stands still at zero, and the manager does not set the replicas itself",
		Mend:  "kubectl annotate va NAME -n NAMESPACE wva.llmd.ai/actuation=scale", Advice: "Or create an HPA that reads wva_desired_replicas: docs/integrations/hpa.md.",
		Related: []string{"ScalerFollowing NoScaler", "event NotFollowed", "alert WVANotFollowed"}, Behind: []Code{"WVA0201", "WVA0202", "WVA0203"},
	},
	{
		Code: "WVA0602", Name: "scaler-reads-another-metric", Sentence: "The scaler does not read the decision of this variant",
		Means: "The target follows another number, or none.",
		Seen:  "no metric of the scaler's spec is wva_desired_replicas with labels that match the variant and averageValue 1",
		Mend:  "kubectl edit SCALERKIND SCALER -n NAMESPACE", Advice: "An example: docs/integrations/hpa.md, docs/integrations/keda.md.",
		Related: []string{"ScalerFollowing HPANotReadingMetric", "event NotFollowed", "alert WVANotFollowed"},
	},
	{
		Code: "WVA0603", Name: "tolerance", Sentence: "The scaler's tolerance takes the decision for no difference",
		Means: "The target keeps the replicas that it has.",
		Seen:  "the decision differs from the replicas by less than the tolerance of the HPA, which is 10 % unless set",
		Mend:  `kubectl patch hpa SCALER -n NAMESPACE --type=merge -p '{"spec":{"behavior":{"DIRECTION":{"tolerance":"0"}}}}'`, Advice: "Of a ScaledObject: spec.advanced.horizontalPodAutoscalerConfig.behavior.",
		Related: []string{"ScalerFollowing HPATolerance", "event NotFollowed"},
	},
	{
		Code: "WVA0604", Name: "behavior-disabled", Sentence: "The scaler never goes in one direction",
		Means: "Decisions in that direction are not carried out.",
		Seen:  "selectPolicy of scaleUp or scaleDown in the scaler's behavior is Disabled, and the variant's bounds allow other numbers there",
		Mend:  `kubectl patch hpa SCALER -n NAMESPACE --type=merge -p '{"spec":{"behavior":{"DIRECTION":{"selectPolicy":"Max"}}}}'`, Advice: "Where it is meant: --skip WVA0604.",
		Related: []string{"ScalerFollowing HPALimited", "event NotFollowed"},
	},
	{
		Code: "WVA0605", Name: "bounds-of-the-scaler", Sentence: "The bounds of the scaler keep the target from the decision",
		Means: "The target stops at the scaler's minimum or maximum.",
		Seen:  "the decision is beyond minReplicas or maxReplicas of the scaler, or both are the number that runs and the variant may have others",
		Mend:  "kubectl edit SCALERKIND SCALER -n NAMESPACE", Advice: "Make the bounds of the scaler and of the variant equal.",
		Related: []string{"ScalerFollowing HPALimited", "event NotFollowed"}, Behind: []Code{"WVA0604"},
	},
	{
		Code: "WVA0606", Name: "two-scalers", Sentence: "Several scalers scale one target",
		Means: "An HPA does not act while another one selects the same pods.",
		Seen:  "two HorizontalPodAutoscalers or ScaledObjects name the target, or an HPA reports AmbiguousSelector",
		Mend:  "kubectl delete SCALERKIND SCALER -n NAMESPACE", Advice: "Keep the one that reads the decision.",
		Related: []string{"ScalerFollowing HPANotReadingMetric", "event NotFollowed"},
	},
	{
		Code: "WVA0607", Name: "scaler-paused", Sentence: "The ScaledObject is paused",
		Means:   "KEDA leaves the target alone, whatever is decided.",
		Seen:    "the ScaledObject has an annotation autoscaling.keda.sh/paused or paused-replicas",
		Mend:    "kubectl annotate scaledobject SCALER -n NAMESPACE autoscaling.keda.sh/paused- autoscaling.keda.sh/paused-replicas- autoscaling.keda.sh/paused-scale-in- autoscaling.keda.sh/paused-scale-out-",
		Related: []string{"ScalerFollowing ScalerPaused"},
	},
	{
		Code: "WVA0608", Name: "no-such-external-metric", Sentence: "The External Metrics API has no value of the decision",
		Means: "The HPA reads nothing and keeps the replicas that it has.",
		Seen:  "the HPA reports FailedGetExternalMetric, and no API service, or one of an adapter or of the manager, serves external.metrics.k8s.io",
		Mend:  `kubectl get --raw "/apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/wva_desired_replicas"`, Advice: "Of an adapter: a rule for wva_desired_replicas (docs/integrations/prometheus-adapter.md); without one: externalMetrics of the chart.",
		Related: []string{"ScalerFollowing HPANotReadingMetric", "event NotFollowed"}, Behind: []Code{"WVA0105", "WVA0106"},
	},
	{
		Code: "WVA0609", Name: "external-metrics-of-another", Sentence: "Another API service serves External Metrics",
		Means: "An HPA that reads wva_desired_replicas asks that one, which does not know it. A cluster has one such API service.",
		Seen:  "APIService v1beta1.external.metrics.k8s.io leads to a Service of another program, such as KEDA's, or to an adapter although the manager serves External Metrics, and the HPA reads nothing there",
		Mend:  "kubectl get apiservice v1beta1.external.metrics.k8s.io -o wide", Advice: "Use a ScaledObject with a trigger for the decision where KEDA is installed (docs/integrations/keda.md), or register the manager.",
		Related: []string{"ScalerFollowing HPANotReadingMetric"},
	},
	{
		Code: "WVA0610", Name: "external-metrics-not-available", Sentence: "The API service of External Metrics is not available",
		Means: "The API server does not reach it, or does not accept its certificate, and every HPA keeps the replicas that it has.",
		Seen:  "the condition Available of APIService v1beta1.external.metrics.k8s.io is not True, or its requests fail by x509",
		Mend:  "kubectl describe apiservice v1beta1.external.metrics.k8s.io", Advice: "A certificate that has expired: renew the Secret of the Service; a wrong caBundle: that of the APIService.",
		Related: []string{"ScalerFollowing HPANotReadingMetric"}, Behind: []Code{"WVA0105", "WVA0106"},
	},
	{
		Code: "WVA0611", Name: "metric-of-type-value", Sentence: "The scaler reads the decision by the target type Value",
		Means: "The HPA multiplies the decision with its ready pods: 3 wanted of 1 become 3, then 9.",
		Seen:  "the metric wva_desired_replicas of the scaler has target type Value, and the manager does not answer it by the ready pods",
		Mend:  `kubectl edit SCALERKIND SCALER -n NAMESPACE`, Advice: `Set the target to type: AverageValue, averageValue: "1".`,
		Related: []string{"ScalerFollowing HPANotReadingMetric"},
	},
}

package doctor

// causesOfSilence are the findings that explain a model without metrics.
var causesOfSilence = []Code{
	"WVA0107", "WVA0201", "WVA0202", "WVA0203", "WVA0301", "WVA0302", "WVA0303", "WVA0305", "WVA0402", "WVA0403", "WVA0404", "WVA0405", "WVA0406",
	"WVA0701", "WVA0702", "WVA0703", "WVA0704", "WVA0801",
}

// metricsTable are the findings about Prometheus, the metrics of models and decisions.
var metricsTable = []Entry{
	{
		Code: "WVA0301", Name: "prometheus-not-reached", Sentence: "The manager does not reach the source of metrics",
		Means: "Every decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports that the connection, the name or the answer of Prometheus (or of the pods and endpoint pickers) is wrong",
		Mend:  "kubectl get configmap -n SYSTEM -o yaml | grep PROMETHEUS_BASE_URL", Advice: "Check the URL, its port, the Service and NetworkPolicies.",
		Related: []string{"MetricsAvailable PrometheusError", "alert WVAModelBlind"}, Behind: []Code{"WVA0802"},
	},
	{
		Code: "WVA0302", Name: "prometheus-refuses", Sentence: "Prometheus refuses the manager's credentials",
		Means: "Every decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports an answer of HTTP 401 or 403",
		Mend:  "kubectl get clusterrolebindings -o wide | grep workload-variant-autoscaler", Advice: "Set PROMETHEUS_TOKEN_PATH or a client certificate whose owner may query.",
		Related: []string{"MetricsAvailable PrometheusError", "alert WVAModelBlind"},
	},
	{
		Code: "WVA0303", Name: "prometheus-not-trusted", Sentence: "The manager does not accept the certificate of Prometheus",
		Means: "Every decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports an error x509: an unknown authority, another name, or a time out of range",
		Mend:  "kubectl get configmap -n SYSTEM -o yaml | grep PROMETHEUS_", Advice: "Set PROMETHEUS_CA_CERT_PATH (prometheus.caCert of the chart), or PROMETHEUS_SERVER_NAME where the name differs.",
		Related: []string{"MetricsAvailable PrometheusError", "alert WVAModelBlind"},
	},
	{
		Code: "WVA0304", Name: "clocks-differ", Sentence: "Clocks differ",
		Means: "Times of events, leases and start-ups are wrong by the difference; ages of readings are by the clock of Prometheus and stay right.",
		Seen:  "the time of the manager differs by more than a minute from that of the API server, or the manager finds that of the source of metrics to differ so",
		Mend:  "timedatectl status", Advice: "Let the nodes of the manager, of Prometheus and of the control plane follow one time source (NTP).",
	},
	{
		Code: "WVA0305", Name: "prometheus-slow", Sentence: "The source of metrics answers too slowly",
		Means: "Every decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports no answer in time, HTTP 429 or 503",
		Mend:  "kubectl get configmap -n SYSTEM -o yaml | grep PROMETHEUS_TIMEOUT", Advice: "Raise PROMETHEUS_TIMEOUT, or give the store more capacity. A NetworkPolicy that drops packets looks the same.",
		Related: []string{"MetricsAvailable PrometheusError", "alert WVAModelBlind"}, Behind: []Code{"WVA0802"},
	},
	{
		Code: "WVA0401", Name: "no-series", Sentence: "There are no metrics of the model",
		Means: "The decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports that no series of the model, and none of another, belongs to its pods",
		Mend:  "kubectl get podmonitors,servicemonitors -n NAMESPACE && kubectl get pods -n NAMESPACE", Advice: "Is there a PodMonitor for the pods, does Prometheus select it, do the pods serve /metrics?",
		Related: []string{"MetricsAvailable MetricsMissing", "alert WVAModelBlind"}, Behind: causesOfSilence,
	},
	{
		Code: "WVA0402", Name: "another-model-name", Sentence: "The metrics have another model name",
		Means: "The series of the pods belong to no variant, and the decision holds.",
		Seen:  "the manager finds no series with modelID as model_name, and series with other names",
		Mend:  "kubectl get va NAME -n NAMESPACE -o jsonpath='{.spec.modelID}'", Advice: "Write into spec.modelID what the label model_name says (--served-model-name of the engine).",
		Related: []string{"MetricsAvailable MetricsMissing"}, Behind: []Code{"WVA0201", "WVA0403", "WVA0701", "WVA0703"},
	},
	{
		Code: "WVA0403", Name: "monitor-selects-nothing", Sentence: "A ServiceMonitor or PodMonitor selects nothing",
		Means:   "Prometheus scrapes no pod of the namespace by it.",
		Seen:    "the selector of a monitor matches no Service, or no pod, of the namespaces that it looks in, and a model of the namespace has no metrics",
		Mend:    "kubectl get MONITORKIND MONITOR -n MONITORNAMESPACE -o jsonpath='{.spec.selector}' && kubectl get services,pods -n NAMESPACE --show-labels",
		Related: []string{"MetricsAvailable MetricsMissing"},
	},
	{
		Code: "WVA0404", Name: "series-lack-a-label", Sentence: "The series lack a label by which they are joined with pods",
		Means: "The series belong to no pod, and the decision holds.",
		Seen:  "the manager finds series of the model without namespace, pod or model_name, or with a pod that is none of its own",
		Mend:  "kubectl get podmonitors,servicemonitors -n NAMESPACE -o yaml | grep -A5 -i relabel", Advice: "A PodMonitor writes both labels; in a scrape configuration of your own: docs/integrations/prometheus.md.",
		Related: []string{"MetricsAvailable MetricsMissing"}, Behind: []Code{"WVA0405"},
	},
	{
		Code: "WVA0405", Name: "several-pods-behind-an-address", Sentence: "Prometheus scrapes several pods through one address",
		Means: "Each scrape reaches another pod, so that counters fall and gauges jump.",
		Seen:  "the manager finds that a counter of one scraped address falls again and again or is each time that of another process, or that readings are not those of each replica alone",
		Mend:  "kubectl get services -n NAMESPACE", Advice: "Scrape each pod by a PodMonitor, or through a headless Service.",
		Related: []string{"MetricsAvailable MetricsMissing", "MetricsAvailable MetricsAging"},
	},
	{
		Code: "WVA0406", Name: "prefix-not-read", Sentence: "The metrics have a prefix that the manager does not read",
		Means:   "The series exist and are not found, and the decision holds.",
		Seen:    "the model has no metrics, and Prometheus has series of an engine in its namespace under a prefix that is not in PROMETHEUS_METRIC_PREFIXES; Prometheus is asked for it through the API server, or at --prometheus",
		Mend:    "kubectl set env deployment/MANAGER -n SYSTEM PROMETHEUS_METRIC_PREFIXES=PREFIXES",
		Related: []string{"MetricsAvailable MetricsMissing"},
	},
	{
		Code: "WVA0407", Name: "series-stale", Sentence: "The metrics of the model are stale",
		Means: "The decision holds at the larger of the last one and what runs.",
		Seen:  "the manager reports that the latest readings are older than the stale limit",
		Mend:  "kubectl get pods -n NAMESPACE -o wide", Advice: "In Prometheus under Targets: are the pods there, and up?",
		Related: []string{"MetricsAvailable MetricsStale", "alert WVAMetricsAging"}, Behind: causesOfSilence,
	},
	{
		Code: "WVA0501", Name: "no-decision", Sentence: "There is no decision, or the last one is late",
		Means:   "No scaler learns a number of replicas for this variant, or an old one.",
		Seen:    "the object has no decision in its status and the manager knows none, or the last cycle is older than three intervals",
		Mend:    "wva explain NAME -n NAMESPACE",
		Related: []string{"OptimizationReady MetricsUnavailable", "alert WVAUndecided"},
		Behind:  []Code{"WVA0103", "WVA0104", "WVA0105", "WVA0106", "WVA0107", "WVA0108", "WVA0201", "WVA0202", "WVA0203", "WVA0207"},
	},
	{
		Code: "WVA0502", Name: "decision-holds", Sentence: "The decision holds, and follows no load",
		Means: "Replicas stay at the larger of the last decision and what runs.",
		Seen:  "the manager reports FallbackUsed, Held or Paused",
		Mend:  "wva explain NAME -n NAMESPACE", Advice: "Paused: kubectl annotate va NAME wva.llmd.ai/paused-",
		Related: []string{"OptimizationReady FallbackUsed", "OptimizationReady Held", "OptimizationReady Paused", "event Held"},
		Behind:  append([]Code{"WVA0209", "WVA0210", "WVA0401", "WVA0407", "WVA0602", "WVA0611"}, causesOfSilence...),
	},
	{
		Code: "WVA0503", Name: "decision-bounded", Sentence: "The decision is below what the load needs",
		Means: "More replicas are needed than the bounds, the stock or a quota allow.",
		Seen:  "the last decision was settled by AboveMax, NoCandidate, NoStock, OverQuota or ObjectiveInfeasible",
		Mend:  "wva explain NAME -n NAMESPACE", Advice: "Raise spec.maxReplicas, the quota or the stock, or add a variant on another accelerator.",
		Related: []string{"OptimizationReady OptimizationFailed", "event Limited", "alert WVAGrowthHeld", "alert WVACapacityExhausted"},
	},
}

package faults

// Scope is what a plumbing fault breaks: one variant, one manager, or the cluster.
type Scope string

// The scopes, in the order of the page.
const (
	OfVariant Scope = "One variant"
	OfManager Scope = "One manager"
	OfCluster Scope = "The cluster"
)

// Scopes returns every scope with the number of its faults.
func Scopes() []struct {
	Scope  Scope
	Faults int
} {
	return []struct {
		Scope  Scope
		Faults int
	}{{OfVariant, 20}, {OfManager, 6}, {OfCluster, 4}}
}

// PlumbingTest is the end-to-end test that injects the plumbing faults, in the package
// test/e2e.
const PlumbingTest = "TestThePlumbingFaultsAreNamed"

// PlumbingNamed is the number of plumbing faults that a condition or an event names.
const PlumbingNamed = 27

// Plumbing is a fault on the way of a decision, from the readings of the pods to the number of
// pods: the manager runs, and nothing is scaled, or not as decided.
type Plumbing struct {
	// ID is the name of the fault in the page and as a subtest, in lower case with hyphens.
	ID    string
	Scope Scope
	// Breaks says what is wrong. Injected says how the test causes it in the local cluster, ""
	// where the test causes just that. Mends says how to mend it. Each is Markdown.
	Breaks, Injected, Mends string
	// Code is the code under which wva doctor reports it.
	Code string
	// Told is the condition or the event that names it. The zero value is none.
	Told Told
}

// Told is a condition or an event.
type Told struct {
	// Kind is the object that has it: VariantAutoscaling or HorizontalPodAutoscaler.
	Kind string
	// Condition is its type, followed by its status; "" for an event.
	Condition, Status string
	Reason            string
	// Says is a part of its message.
	Says string
}

// None reports whether no condition and no event names the fault.
func (t Told) None() bool { return t == Told{} }

// The objects with conditions and events.
const (
	onVariant = "VariantAutoscaling"
	onHPA     = "HorizontalPodAutoscaler"
)

// AllPlumbing returns the plumbing faults, grouped by scope.
func AllPlumbing() []Plumbing {
	var all []Plumbing
	for _, of := range [][]Plumbing{ofMetrics(), ofScalers(), ofTargets(), ofObjects(), ofOneManager(), ofTheCluster()} {
		all = append(all, of...)
	}
	return all
}

func missing(says string) Told {
	return Told{onVariant, "MetricsAvailable", "False", "MetricsMissing", says}
}

func notFollowing(reason, says string) Told {
	return Told{onVariant, "ScalerFollowing", "False", reason, says}
}

func ofMetrics() []Plumbing {
	return []Plumbing{
		{
			"wrong-model-id", OfVariant, "`spec.modelID` is not the name under which the engine serves the model", "",
			"write into `spec.modelID` what the label `model_name` of the series says", "WVA0402", missing("Did you mean"),
		},
		{
			"missing-pod-label", OfVariant, "the series of the pods have no label `pod`", "a relabelling rule of Prometheus drops the label",
			"keep the labels `namespace` and `pod` in the scrape configuration", "WVA0404", missing("has no label pod"),
		},
		{
			"monitor-selects-nothing", OfVariant, "the selector of the ServiceMonitor matches no Service, so the pods are not scraped",
			"the ServiceMonitor is there, no operator reads it, and Prometheus leaves the pods of the namespace out",
			"make the selector of the ServiceMonitor match the labels of the Service", "WVA0403", missing("ServiceMonitor selector matches"),
		},
		{
			"scraped-through-service", OfVariant, "Prometheus scrapes the address of a Service with two pods behind it, so that one series has the counters of both in turn",
			"a relabelling rule of Prometheus gives the series of both pods one instance and no pod",
			"scrape each pod: a PodMonitor, or a headless Service", "WVA0405", missing("falls again and again"),
		},
		{
			"unknown-prefix", OfVariant, "the names of the series begin with a prefix that the manager does not read", "a relabelling rule of Prometheus renames the series",
			"add the prefix to `PROMETHEUS_METRIC_PREFIXES`, or leave the names as vLLM writes them", "WVA0406", missing("PROMETHEUS_METRIC_PREFIXES"),
		},
		{
			"network-policy", OfVariant, "a NetworkPolicy keeps Prometheus from the pods",
			"the NetworkPolicy is there and the local cluster enforces none; the address that Prometheus scrapes is a port that never answers",
			"allow ingress from the namespace of Prometheus to the metrics port of the pods", "WVA0801", missing("NetworkPolicy"),
		},
	}
}

func ofScalers() []Plumbing {
	return []Plumbing{
		{
			"hpa-other-metric", OfVariant, "the HPA reads another metric", "",
			"let the HPA read `wva_desired_replicas` with the labels of the variant", "WVA0602", notFollowing("HPANotReadingMetric", "does not read the decision"),
		},
		{
			"hpa-tolerance", OfVariant, "the tolerance of the HPA is wider than the step that was decided", "",
			"set `spec.behavior.scaleUp.tolerance` and `scaleDown.tolerance` to `0`", "WVA0603", notFollowing("HPATolerance", "spec.behavior.scaleUp.tolerance"),
		},
		{
			"hpa-behavior-disabled", OfVariant, "`selectPolicy` of the HPA is `Disabled` in the direction of the decision", "",
			"remove `selectPolicy: Disabled`", "WVA0604", notFollowing("HPALimited", "selectPolicy is Disabled"),
		},
		{
			"hpa-max-below", OfVariant, "`maxReplicas` of the HPA is below the decision", "",
			"make the bounds of the HPA those of the variant", "WVA0605", notFollowing("HPALimited", "maxReplicas 1"),
		},
		{
			"two-scalers", OfVariant, "two HPAs scale one target, and neither acts", "",
			"remove one of them", "WVA0606", notFollowing("HPANotReadingMetric", "scale the same target"),
		},
		{
			"scaledobject-paused", OfVariant, "the ScaledObject has the annotation `autoscaling.keda.sh/paused`",
			"the ScaledObject is there without KEDA's operator; with it: `TestReplicasFollowThroughKEDA/a paused one is named` in `make soak`",
			"remove the annotation", "WVA0607", notFollowing("ScalerPaused", "is paused"),
		},
	}
}

func ofTargets() []Plumbing {
	return []Plumbing{
		{
			"pods-unschedulable", OfVariant, "no node has the accelerators that the pods ask for", "",
			"add nodes, correct the node selector of the pods, or lower `maxReplicas`", "WVA0701", notFollowing("PodsUnschedulable", "No node takes"),
		},
		{
			"quota-exhausted", OfVariant, "a ResourceQuota refuses further pods", "",
			"raise the quota, or lower `maxReplicas`", "WVA0702", notFollowing("TargetNotMoving", "exceeded quota"),
		},
		{
			"image-not-pulled", OfVariant, "the image of the pods cannot be pulled", "the pods run on the node whose kubelet is real, which knows no such image",
			"correct the image of the target, or its pull secret", "WVA0703",
			Told{onVariant, "ScalerFollowing", "True", "PodsNotReady", "image"},
		},
		{
			"never-ready", OfVariant, "new pods run and never become Ready", "the emulated kubelet takes an hour to make the pods of a new template Ready; no probe runs there",
			"the logs of the pod and its readiness probe", "WVA0704",
			Told{onVariant, "ScalerFollowing", "True", "PodsNotReady", "not Ready"},
		},
	}
}

func ofObjects() []Plumbing {
	return []Plumbing{
		{
			"other-instance", OfVariant, "the label `wva.llmd.ai/controller-instance` names an instance of which no manager runs", "",
			"give the object the label of the manager that should serve it", "WVA0202",
			Told{},
		},
		{
			"excluded-namespace", OfVariant, "the namespace has the annotation `wva.llmd.ai/exclude`", "",
			"remove the annotation from the namespace", "WVA0203",
			Told{onVariant, "", "", "NotServed", "wva.llmd.ai/exclude"},
		},
		{
			"class-of-another-model", OfVariant, "the engine decides by objectives, and the service class names another model", "",
			"add the model to `data` of a service class", "WVA0205",
			Told{onVariant, "ConfigurationValid", "False", "ServiceClassMissing", "not found in any service class"},
		},
		{
			"profile-of-another-accelerator", OfVariant, "the engine decides by a profile, and the profile is for another accelerator", "",
			"add an entry for the accelerator to `spec.modelProfile`", "WVA0206",
			Told{onVariant, "ConfigurationValid", "False", "ProfileMissing", "an entry of spec.modelProfile for L4"},
		},
	}
}

func ofOneManager() []Plumbing {
	failed := func(says string) Told { return Told{onVariant, "MetricsAvailable", "False", "PrometheusError", says} }
	return []Plumbing{
		{
			"prometheus-refuses-credentials", OfManager, "Prometheus answers 401", "a proxy before Prometheus asks for a token that the manager does not have",
			"`prometheus.tokenSecret` or `prometheus.tokenPath` of the chart", "WVA0302", failed("HTTP 401"),
		},
		{
			"prometheus-wrong-ca", OfManager, "the CA that the manager trusts has not signed the certificate of Prometheus", "a proxy before Prometheus serves TLS",
			"`prometheus.caCert` or `prometheus.caConfigMap` of the chart", "WVA0303", failed("x509: certificate signed by unknown authority"),
		},
		{
			"clock-skew", OfManager, "the clock of Prometheus is ten minutes behind the manager's", "a proxy before Prometheus sets the time of each query and the Date of each answer back",
			"let the nodes keep their clocks by NTP", "WVA0304",
			Told{onVariant, "MetricsAvailable", "True", "MetricsFound", "clock"},
		},
		{
			"no-right-to-list-pods", OfManager, "the manager's role lacks `list` and `watch` of pods", "",
			"install the roles of the chart again", "WVA0107",
			Told{},
		},
		{
			"status-not-writable", OfManager, "the manager's role lacks `update` of `variantautoscalings/status`", "",
			"install the roles of the chart again", "WVA0108",
			Told{onVariant, "", "", "StatusNotWritten", "forbidden"},
		},
		{
			"lease-held-by-another", OfManager, "the lease is held and renewed by something that is no pod of the manager", "",
			"end the process that renews the lease, or delete the lease", "WVA0106",
			Told{},
		},
	}
}

func ofTheCluster() []Plumbing {
	return []Plumbing{
		{
			"adapter-without-rule", OfCluster, "prometheus-adapter serves External Metrics, and no rule of it names `wva_desired_replicas`", "",
			"add the rule of `config/samples/prometheus-adapter/values.yaml`", "WVA0608",
			Told{onHPA, "ScalingActive", "False", "FailedGetExternalMetric", "wva_desired_replicas"},
		},
		{
			"other-api-service", OfCluster, "the manager serves External Metrics, and the APIService names the Service of another program", "",
			"let the APIService name the manager's Service, or read the decision by the program that serves it", "WVA0609",
			Told{onHPA, "ScalingActive", "False", "FailedGetExternalMetric", "wva_desired_replicas"},
		},
		{
			"certificate-expired", OfCluster, "the certificate of the manager's External Metrics API has expired", "",
			"renew the certificate in its Secret", "WVA0610",
			Told{onHPA, "ScalingActive", "False", "FailedGetExternalMetric", "unable to handle the request"},
		},
		{
			"older-crd", OfCluster, "the CustomResourceDefinition is that of an older version, and drops fields that the manager writes", "",
			"`kubectl apply --server-side --force-conflicts -f charts/workload-variant-autoscaler/crds`", "WVA0104",
			Told{onVariant, "", "", "OlderDefinition", "is of an older version"},
		},
	}
}

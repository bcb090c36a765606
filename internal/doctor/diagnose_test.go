package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

const system = "wva-system"

// say gives the first variant of a case a condition.
func say(c *Case, kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason v1alpha1.ConditionReason, message string) {
	of := &c.Variants[0].Object.Status.Conditions
	*of = slices.DeleteFunc(*of, func(c metav1.Condition) bool { return c.Type == string(kind) })
	*of = append(*of, metav1.Condition{Type: string(kind), Status: status, Reason: string(reason), Message: message})
}

// fails has the probe fail at a step.
func fails(step ProbeStep) func(c *Case) {
	return func(c *Case) { c.Probe.Steps = []Probed{Failing(step, nil, "why")} }
}

// pod is a pod that serves.
func pod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "chat", Name: name, Labels: map[string]string{"app": "llama"}, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "vllm", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8000}}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// healthy is a cluster in which nothing is wrong: one variant with two replicas, an HPA and a manager.
func healthy() Case {
	key := scaling.VariantKey{Namespace: "chat", Name: "llama"}
	variant := scaling.Variant{
		Key: key, Model: scaling.ModelKey{Namespace: "chat", ID: "llama-8b"}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "llama"},
		Accelerator: "L40S", Bounds: scaling.Bounds{Max: 10}, Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2},
	}
	manager := pod("manager-0")
	manager.Namespace = system
	manager.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8443}}
	c := Case{
		Now: noon, System: system, Server: "v1.36.3",
		Probe:    &Probe{Variant: key, Steps: []Probed{{Step: ProbeDecided, Result: ProbePassed, Says: []string{"2 replicas are decided"}}}},
		Lease:    Lease{Name: system + "/lease", Present: true, Holder: "manager-0_1", Renewed: noon.Add(-time.Second), Lasts: 15 * time.Second, Pod: true},
		Managers: []Manager{{Name: system + "/manager", Serves: system + "/manager serves every namespace"}},
		Pods:     []corev1.Pod{manager}, Account: system + "/manager",
		Answer: Answer{From: "the manager", Reached: true, Known: map[scaling.VariantKey]explain.Explanation{key: {
			At: noon.Add(-10 * time.Second), Interval: explain.Duration(time.Minute), Variant: variant, Decided: true,
			Decision: scaling.Decision{Variant: key, Steps: []scaling.Step{{Stage: "optimize", From: 2, To: 2, Reason: scaling.ReasonSteady}}},
		}}},
		Clocks:     Clocks{Server: Offset{time.Second, true}, Manager: Offset{0, true}},
		Namespaces: map[string]corev1.Namespace{"chat": {}, system: {}},
		Config: Config{ClassModels: []string{"llama-8b"}, Policy: func(scaling.ModelKey, ...config.ClassRef) config.ModelSettings {
			p := config.ModelSettings{}
			p.Objective.Class = "premium"
			return p
		}},
		API:      APIService{Present: true, Available: true, Service: system + "/external-metrics"},
		Monitors: []Monitor{{Kind: "PodMonitor", Namespace: "chat", Name: "vllm", Selector: labels.SelectorFromSet(labels.Set{"app": "llama"})}},
		Variants: []Variant{{
			Object: v1alpha1.VariantAutoscaling{
				ObjectMeta: metav1.ObjectMeta{Namespace: "chat", Name: "llama"},
				Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "llama-8b", VariantCost: "10"},
				Status:     v1alpha1.VariantAutoscalingStatus{DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{NumReplicas: 2}},
			},
			Resolved: variant,
			Scalers:  scaling.Scalers{Known: true, List: []scaling.Scaler{{Kind: scaling.KindHPA, Name: "llama-hpa", Bounds: scaling.Bounds{Min: 1, Max: 10}}}},
			Pods:     []corev1.Pod{pod("llama-a"), pod("llama-b")},
		}},
	}
	c.ServingPods = c.Variants[0].Pods
	say(&c, v1alpha1.ConditionTargetResolved, metav1.ConditionTrue, v1alpha1.ReasonTargetFound, "found")
	say(&c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionTrue, v1alpha1.ReasonMetricsFound, "up-to-date")
	say(&c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonOptimizationSucceeded, "completed")
	say(&c, v1alpha1.ConditionConfigurationValid, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, "in force")
	say(&c, v1alpha1.ConditionScalerFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing, "follows")
	return c
}

// missing says that there are no metrics, and that the decision holds for it.
func missing(message string) func(*Case) {
	return func(c *Case) {
		say(c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionFalse, v1alpha1.ReasonMetricsMissing, message)
		say(c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonFallbackUsed, "No analysis so far")
	}
}

// unanswered says that the source of metrics fails.
func unanswered(fault string) func(*Case) {
	return func(c *Case) {
		say(c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionFalse, v1alpha1.ReasonPrometheusError, "Failed to query Prometheus: querying pages: prometheus:9090: "+fault)
		say(c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonFallbackUsed, "No analysis since noon")
	}
}

// scaler changes the HPA.
func scaler(edit func(*scaling.Scaler)) func(*Case) {
	return func(c *Case) { edit(&c.Variants[0].Scalers.List[0]) }
}

// decide has the manager decide on a number, in a step of a reason.
func decide(c *Case, to scaling.Replicas, reason scaling.Reason) {
	key := c.Variants[0].key()
	e := c.Answer.Known[key]
	e.Decision.Steps = []scaling.Step{{Stage: "optimize", From: 2, To: to, Reason: reason}}
	c.Answer.Known[key] = e
	c.Variants[0].Object.Status.DesiredOptimizedAlloc.NumReplicas = int32(to)
}

// silent has the manager not answer.
func silent(c *Case) { c.Answer = Answer{From: "the manager", Why: "connection refused"} }

func inactive(message string) func(*scaling.Scaler) {
	return func(s *scaling.Scaler) {
		s.Inactive = scaling.Trouble{Reason: "FailedGetExternalMetric", Message: message, Since: noon.Add(-5 * time.Minute)}
	}
}

// waits has a container of the first pod wait.
func waits(reason string) func(*Case) {
	return func(c *Case) {
		p := &c.Variants[0].Pods[0]
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "vllm", Image: "registry/vllm:0", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
		}}
	}
}

// policy is a NetworkPolicy that selects every pod of a namespace.
func policy(namespace string, ingress ...networkingv1.NetworkPolicyIngressRule) networkingv1.NetworkPolicy {
	return networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "deny"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: ingress},
	}
}

// faults has a case for each finding of the table, and further ones.
var faults = []struct {
	name   string
	code   Code
	inject func(*Case)
	says   string // part of the evidence
}{
	{"the API server does not answer", "WVA0101", func(c *Case) {
		*c = Case{Now: noon, System: system, Missed: map[Read]Missed{ReadServer: {Why: "connection refused"}}}
		for _, read := range []Read{ReadDefinition, ReadVariants, ReadLease, ReadPods} {
			c.Missed[read] = Missed{Why: "connection refused"}
		}
	}, "connection refused"},
	{"the user may not list pods", "WVA0102", func(c *Case) {
		c.Missed = map[Read]Missed{ReadPods: {Why: "forbidden", Right: "list pods"}}
		c.Variants[0].Pods = nil
	}, "the right that is missing: list pods"},
	{"the definition is missing", "WVA0103", func(c *Case) { c.Definition.Absent, c.Variants = true, nil }, "not found"},
	{"the definition is older", "WVA0104", func(c *Case) { c.Definition.Older = "of an older version: it lacks status.facts" }, "lacks status.facts"},
	{"the lease ran out", "WVA0105", func(c *Case) { silent(c); c.Lease.Renewed = noon.Add(-time.Hour) }, "ran out"},
	{"there is no lease", "WVA0105", func(c *Case) { silent(c); c.Lease = Lease{Name: "a/b"} }, "there is no Lease a/b"},
	{"a laptop holds the lease", "WVA0106", func(c *Case) { silent(c); c.Lease.Holder, c.Lease.Pod = "laptop_1", false }, "held by laptop_1"},
	{"the manager may not list pods", "WVA0107", func(c *Case) { c.Lacks = []Right{{Verb: "list", Resource: "pods"}} }, "may not: list pods"},
	{"the manager may not write status", "WVA0108", func(c *Case) {
		c.Lacks = []Right{{Verb: "update", Group: "llmd.ai", Resource: "variantautoscalings/status"}}
	}, "update variantautoscalings/status.llmd.ai"},
	{"a pod of the manager is not Ready", "WVA0109", func(c *Case) {
		p := pod("manager-1")
		p.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}
		c.Pods = append(c.Pods, p)
	}, "ContainersNotReady"},

	{"the target does not exist", "WVA0201", func(c *Case) {
		v := &c.Variants[0]
		v.Resolved.Gone, v.Resolved.Missing, v.Resolved.Replicas, v.Pods, v.Scalers.List = true, `Deployment "llama" not found in namespace "chat"`, scaling.ReplicaCounts{}, nil, nil
		missing("No vLLM metrics found. No pod of the model is running")(c)
	}, "not found in namespace"},
	{"another controller instance", "WVA0202", func(c *Case) {
		c.Managers[0].Instance = "blue"
		c.Answer.Known = map[scaling.VariantKey]explain.Explanation{}
	}, `controller-instance is ""`},
	{"another instance of a manager outside the cluster", "WVA0202", func(c *Case) {
		c.Managers = nil
		c.Variants[0].Object.Labels = map[string]string{v1alpha1.LabelControllerInstance: "green"}
		c.Answer.Known = map[scaling.VariantKey]explain.Explanation{}
	}, `controller-instance is "green"`},
	{"the namespace is excluded", "WVA0203", func(c *Case) {
		c.Namespaces["chat"] = corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationExclude: "true"}}}
		c.Answer.Known = map[scaling.VariantKey]explain.Explanation{}
	}, "wva.llmd.ai/exclude"},
	{"the manager watches another namespace", "WVA0203", func(c *Case) {
		c.Managers[0].Namespace, c.Managers[0].Serves = "prod", "m serves namespace prod"
		c.Answer.Known = map[scaling.VariantKey]explain.Explanation{}
	}, "serves namespace prod"},
	{"the accelerator is unknown", "WVA0204", func(c *Case) { c.Variants[0].Resolved.Accelerator = "" }, "name none"},
	{"a class of another model", "WVA0205", func(c *Case) {
		c.Config.ClassModels = []string{"llama-8"}
		c.Config.Policy = func(scaling.ModelKey, ...config.ClassRef) config.ModelSettings { return config.ModelSettings{} }
	}, "one names llama-8"},
	{"the manager misses the class", "WVA0205", func(c *Case) {
		say(c, v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing, "not found in any service class")
	}, "not found in any service class"},
	{"the profile is of another accelerator", "WVA0206", func(c *Case) {
		c.Variants[0].Object.Spec.ModelProfile = &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{{Acc: "A100"}}}
	}, "runs on L40S, and spec.modelProfile has A100"},
	{"two variants name one target", "WVA0207", func(c *Case) {
		other := c.Variants[0]
		other.Object.Name, other.Resolved, other.Pods, other.Scalers = "second", scaling.Variant{}, nil, scaling.Scalers{}
		other.Object.Status = v1alpha1.VariantAutoscalingStatus{}
		rivals := []scaling.VariantKey{c.Variants[0].key(), other.key()}
		c.Variants[0].Rivals, other.Rivals = rivals, rivals
		c.Variants = append(c.Variants, other)
	}, "llama is the oldest"},
	{"an entry of a ConfigMap is refused", "WVA0208", func(c *Case) {
		c.Config.Refused = []config.Finding{{Severity: config.Refused, Namespace: system, ConfigMap: "saturation-scaling-config", Key: "default", Value: "x"}}
	}, "ConfigMap wva-system/saturation-scaling-config"},
	{"the manager refuses a value of the object", "WVA0208", func(c *Case) {
		say(c, v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, "annotation wva.llmd.ai/paused")
	}, "wva.llmd.ai/paused"},
	{"the cost is no number", "WVA0209", func(c *Case) {
		c.Variants[0].Object.Kind = scaling.KindHPA
		c.Variants[0].Problem = `annotation llm-d.ai/variant-cost is "dear": want a decimal number of 0 or more`
		say(c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonHeld, "stays")
	}, `"dear"`},
	{"the model is not named", "WVA0210", func(c *Case) {
		c.Variants[0].Object.Kind, c.Variants[0].Object.Spec.ModelID = scaling.KindHPA, ""
		c.Variants[0].Problem = `annotation llm-d.ai/model-id is "": want the ID of the model that the target serves`
	}, "want the ID of the model"},

	{"Prometheus refuses the connection", "WVA0301", unanswered("dial: connect: connection refused"), "connection refused"},
	{"Prometheus answers 401", "WVA0302", unanswered("answered HTTP 401: Unauthorized"), "HTTP 401"},
	{"the certificate is of another CA", "WVA0303", unanswered("its certificate is not accepted: x509: certificate signed by unknown authority"), "unknown authority"},
	{"the manager's clock is ahead", "WVA0304", func(c *Case) { c.Clocks.Manager.By = 10 * time.Minute; at(c, noon.Add(10*time.Minute)) }, "9m59s ahead"},
	{"the clock of Prometheus is behind", "WVA0304", func(c *Case) {
		e := c.Answer.Known[c.Variants[0].key()]
		e.Snapshot.ClockLag = 10 * time.Minute
		c.Answer.Known[c.Variants[0].key()] = e
	}, "10m behind the manager's"},
	{"the manager says that clocks differ", "WVA0304", func(c *Case) {
		silent(c)
		say(c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionTrue, v1alpha1.ReasonMetricsFound, "up-to-date. The clock of the source of metrics is more than a minute behind the manager's")
	}, "more than a minute behind"},
	{"Prometheus does not answer in time", "WVA0305", unanswered("no answer in time"), "no answer in time"},
	{"there are no series", "WVA0401", missing("No vLLM metrics found for model 'llama-8b'. Check: (5) the names of their metrics begin with one of PROMETHEUS_METRIC_PREFIXES, (6) no NetworkPolicy"), "No vLLM metrics found"},
	{"the model has another name", "WVA0402", missing("No vLLM metrics found. Did you mean 'llama-8B'?"), "Did you mean"},
	{"a PodMonitor selects nothing", "WVA0403", func(c *Case) {
		c.Monitors[0].Selector = labels.SelectorFromSet(labels.Set{"app": "lama"})
		missing("No vLLM metrics found")(c)
	}, "PodMonitor chat/vllm selects app=lama"},
	{"a ServiceMonitor selects nothing", "WVA0403", func(c *Case) {
		c.Monitors[0].Kind = "ServiceMonitor"
		missing("No vLLM metrics found")(c)
	}, "no Service of namespace chat"},
	{"the series have no label pod", "WVA0404", missing("No vLLM metrics found. Vllm:x with {job=\"a\"} exists but has no label pod."), "has no label pod"},
	{"a Service is scraped", "WVA0405", func(c *Case) {
		say(c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionTrue, v1alpha1.ReasonMetricsAging, "The token counter of {x} falls again and again")
	}, "falls again and again"},
	{"the series have another prefix", "WVA0406", func(c *Case) {
		missing("No vLLM metrics found")(c)
		c.Variants[0].Prefixes = Prefixes{Found: []string{"acme_vllm_"}, Read: []string{"vllm:"}}
	}, "under the prefix acme_vllm_"},
	{"the series are stale", "WVA0407", func(c *Case) {
		say(c, v1alpha1.ConditionMetricsAvailable, metav1.ConditionFalse, v1alpha1.ReasonMetricsStale, "are stale")
		say(c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonFallbackUsed, "No analysis since noon")
	}, "are stale"},

	{"nothing was decided", "WVA0501", func(c *Case) {
		c.Answer.Known = map[scaling.VariantKey]explain.Explanation{}
		c.Variants[0].Object.Status = v1alpha1.VariantAutoscalingStatus{}
	}, "does not know the variant"},
	{"the last cycle is late", "WVA0501", func(c *Case) { at(c, noon.Add(-time.Hour)) }, "decided 1h ago"},
	{"the decision is paused", "WVA0502", func(c *Case) {
		say(c, v1alpha1.ConditionOptimizationReady, metav1.ConditionTrue, v1alpha1.ReasonPaused, "Paused: the decision is frozen")
	}, "frozen"},
	{"the stock is used up", "WVA0503", func(c *Case) { decide(c, 2, scaling.ReasonNoStock) }, "NoStock"},

	{"there is no scaler", "WVA0601", func(c *Case) { c.Variants[0].Scalers.List = nil }, "No HorizontalPodAutoscaler"},
	{"the HPA reads another metric", "WVA0602", scaler(func(s *scaling.Scaler) { s.Misread = "none of its metrics is wva_desired_replicas" }), "none of its metrics"},
	{"the tolerance takes 11 of 10 for no difference", "WVA0603", func(c *Case) {
		c.Variants[0].Resolved.Replicas.Current = 10
		c.Variants[0].Scalers.List[0].Bounds.Max, c.Variants[0].Resolved.Bounds.Max = 20, 20
		c.Variants[0].Scalers.List[0].Up.Tolerance = 0.1
		decide(c, 11, scaling.ReasonSaturated)
		say(c, v1alpha1.ConditionScalerFollowing, metav1.ConditionFalse, v1alpha1.ReasonHPATolerance, "takes the decision for no difference")
	}, "11 replicas are decided"},
	{"the HPA never grows", "WVA0604", scaler(func(s *scaling.Scaler) { s.Up.Disabled = true }), "scaleUp.selectPolicy is Disabled"},
	{"the maximum of the HPA is below the decision", "WVA0605", func(c *Case) {
		c.Variants[0].Scalers.List[0].Bounds.Max = 2
		decide(c, 4, scaling.ReasonSaturated)
	}, "maxReplicas 2"},
	{"two HPAs scale the target", "WVA0606", func(c *Case) {
		c.Variants[0].Scalers.List = append(c.Variants[0].Scalers.List, scaling.Scaler{Kind: scaling.KindHPA, Name: "second"})
	}, "scale the same target"},
	{"the ScaledObject is paused", "WVA0607", scaler(func(s *scaling.Scaler) { s.Kind, s.Paused = scaling.KindScaledObject, true }), "is paused"},
	{"no API service serves External Metrics", "WVA0608", func(c *Case) {
		c.API = APIService{}
		scaler(inactive("the server could not find the requested resource"))(c)
	}, "there is no APIService"},
	{"an adapter has no rule", "WVA0608", func(c *Case) {
		c.API.Service = "monitoring/prometheus-adapter"
		scaler(inactive("unable to fetch metrics"))(c)
		c.Variants[0].Scalers.List[0].Inactive.Since = noon // that is not waited for
	}, "leads to Service monitoring/prometheus-adapter"},
	{"an adapter serves them in place of the manager", "WVA0609", func(c *Case) {
		c.API.Service, c.Managers[0].External, c.Managers[0].Name = "monitoring/prometheus-adapter", true, system+"/manager"
		scaler(inactive("unable to fetch metrics"))(c)
	}, "the manager serves External Metrics, too"},
	{"KEDA serves External Metrics", "WVA0609", func(c *Case) {
		c.API.Service = "keda/keda-operator-metrics-apiserver"
		scaler(inactive("no matching metrics found"))(c)
	}, "keda/keda-operator-metrics-apiserver"},
	{"the certificate of External Metrics has expired", "WVA0610", func(c *Case) {
		c.API.Available, c.API.Message = false, "FailedDiscoveryCheck: x509: certificate has expired"
		scaler(inactive("the server is currently unable to handle the request"))(c)
	}, "certificate has expired"},
	{"the manager has had no value for minutes", "WVA0608", scaler(inactive("no metrics returned")), "leads to Service wva-system/external-metrics"},
	{"the metric is of type Value", "WVA0611", scaler(func(s *scaling.Scaler) {
		s.Multiplies, s.Misread = true, "it reads wva_desired_replicas by the target type Value"
	}), "type Value"},

	{"a pod finds no node", "WVA0701", func(c *Case) {
		p := &c.Variants[0].Pods[0]
		p.Spec.NodeName = ""
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/6 nodes are available"}}
		say(c, v1alpha1.ConditionScalerFollowing, metav1.ConditionFalse, v1alpha1.ReasonPodsUnschedulable, "No node takes pods")
	}, "0/6 nodes"},
	{"a quota refuses pods", "WVA0702", func(c *Case) {
		c.Variants[0].Failure = scaling.Trouble{Reason: "FailedCreate", Message: "exceeded quota: gpus"}
		say(c, v1alpha1.ConditionScalerFollowing, metav1.ConditionFalse, v1alpha1.ReasonTargetNotMoving, "cannot create pods for them: FailedCreate")
	}, "exceeded quota"},
	{"an image does not pull", "WVA0703", waits("ImagePullBackOff"), "registry/vllm:0"},
	{"the discovery sees that an image does not pull", "WVA0703", func(c *Case) {
		c.Variants[0].Failure = scaling.Trouble{Reason: scaling.ImageNotPulled, Message: `image "registry/vllm:0"`}
	}, "registry/vllm:0"},
	{"a container crashes", "WVA0704", waits("CrashLoopBackOff"), "CrashLoopBackOff"},
	{"a pod does not become Ready", "WVA0704", func(c *Case) {
		c.Variants[0].Pods[1].Status.Conditions[0].Status = corev1.ConditionFalse
	}, "created 1h ago"},
	{"another writes pod-deletion-cost", "WVA0705", func(c *Case) {
		c.Variants[0].Scalers = scaling.Scalers{Known: true, Own: scaling.ActuationScale}
		c.Variants[0].Pods[0].Annotations = map[string]string{deletionCost: "5"}
		c.Variants[0].Pods[0].ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "gateway", FieldsV1: metav1.NewFieldsV1(`{"f:controller.kubernetes.io/pod-deletion-cost":{}}`)}}
	}, "written by gateway"},
	{"another writes spec.replicas", "WVA0706", func(c *Case) {
		say(c, v1alpha1.ConditionScalerFollowing, metav1.ConditionFalse, v1alpha1.ReasonTargetNotMoving, "asks for the replicas decided on, and the target does not keep them")
	}, "does not keep them"},
	{"a policy denies all traffic to the pods", "WVA0801", func(c *Case) {
		c.Policies = []networkingv1.NetworkPolicy{policy("chat")}
		missing("No vLLM metrics found")(c)
	}, "port 8000"},
	{"a policy allows another namespace", "WVA0801", func(c *Case) {
		c.Prometheus.Namespace, c.Namespaces["monitoring"] = "monitoring", corev1.Namespace{}
		c.Policies = []networkingv1.NetworkPolicy{policy("chat", networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "gateway"}}}},
		})}
	}, "from namespace monitoring"},
	{"a policy denies traffic to the manager", "WVA0802", func(c *Case) {
		c.Policies = []networkingv1.NetworkPolicy{policy(system)}
	}, "port 8443"},
	{"two scalers keep a probe from being made", "WVA0901", fails(ProbePrepared), "why"},
	{"the user may not create Deployments", "WVA0902", fails(ProbeAllowed), "why"},
	{"a probe finds no decision", "WVA0903", fails(ProbeDecided), "why"},
	{"External Metrics do not answer a probe", "WVA0904", fails(ProbeServed), "why"},
	{"the HPA of a probe reads nothing", "WVA0905", fails(ProbeRead), "why"},
	{"the HPA of a probe sets nothing", "WVA0906", fails(ProbeSet), "why"},
	{"a probe does not get rid of its objects", "WVA0907", fails(ProbeRemoved), "why"},
	{"a probe was killed", "WVA0907", func(c *Case) {
		c.Left = []Leftover{{Kind: "Deployment", Namespace: "chat", Name: "wva-probe-1", Of: "llama", Until: noon.Add(-time.Hour)}}
	}, "of a probe of llama: its probe was to end at"},
	{"the manager may not set the scale", "WVA0908", fails(ProbeSettable), "why"},
	{"the gateway answers 502", "WVA0909", fails(ProbeRequested), "why"},
	{"the first token is late", "WVA0910", func(c *Case) { c.Probe.TTFT, c.Probe.Objective = 750, 500 }, "750 ms"},
}

// at sets when the last cycle decided.
func at(c *Case, when time.Time) {
	key := c.Variants[0].key()
	e := c.Answer.Known[key]
	e.At = when
	c.Answer.Known[key] = e
}

func codes(r Report) []string {
	out := []string{}
	for _, s := range r.Stages {
		for _, f := range s.Findings {
			out = append(out, string(f.Code))
		}
	}
	return out
}

func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	report := Diagnose(healthy(), Filter{})
	if got := codes(report); len(got) > 0 || report.Found != 0 {
		t.Errorf("found %v in a healthy cluster: %+v", got, report)
	}
	for _, s := range report.Stages {
		if len(s.Seen) == 0 {
			t.Errorf("stage %s does not say what is in order", s.Stage)
		}
	}
}

func TestEachFaultIsNamedByItsCodeAlone(t *testing.T) {
	seen := map[Code]bool{}
	for _, f := range faults {
		seen[f.code] = true
		t.Run(f.name, func(t *testing.T) {
			c := healthy()
			f.inject(&c)
			report := Diagnose(c, Filter{})
			got := codes(report)
			if f.code == "WVA0102" { // one for each thing that was not looked at
				got = slices.Compact(got)
			}
			if diff := cmp.Diff(got, []string{string(f.code)}); diff != "" {
				t.Fatalf("codes (-got +want):\n%s", diff)
			}
			if found := first(report); !strings.Contains(strings.Join(found.Evidence, "\n"), f.says) {
				t.Errorf("evidence %q does not say %q", found.Evidence, f.says)
			}
		})
	}
	for _, e := range Table() {
		if !seen[e.Code] {
			t.Errorf("%s has no case", e.Code)
		}
	}
}

// first returns the first finding of a report.
func first(r Report) Finding {
	for _, s := range r.Stages {
		if len(s.Findings) > 0 {
			return s.Findings[0]
		}
	}
	return Finding{}
}

func TestACommandNamesTheObjectsOfTheCase(t *testing.T) {
	c := healthy()
	c.Variants[0].Scalers.List[0].Up.Disabled = true
	got := first(Diagnose(c, Filter{})).Mend
	want := `kubectl patch hpa llama-hpa -n chat --type=merge -p '{"spec":{"behavior":{"scaleUp":{"selectPolicy":"Max"}}}}'`
	if got != want {
		t.Errorf("mended by %s, want %s", got, want)
	}
}

func TestAWordOfACommandIsReplacedAsAWhole(t *testing.T) {
	n := names{"NAME": "llama", "NAMESPACE": "chat", "PREFIXES": "vllm:,acme_", "INSTANCE": "a'; rm -rf ~ #"}
	for text, want := range map[string]string{
		"kubectl get va NAME -n NAMESPACE":      "kubectl get va llama -n chat",
		"PROMETHEUS_METRIC_PREFIXES=PREFIXES":   "PROMETHEUS_METRIC_PREFIXES=vllm:,acme_",
		"label va NAME x=INSTANCE":              `label va llama x='a'\''; rm -rf ~ #'`,
		"kubectl describe pod POD -n NAMESPACE": "kubectl describe pod POD -n chat",
	} {
		if got := n.fill(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestOnlyAndSkipChooseFindings(t *testing.T) {
	c := healthy()
	c.Variants[0].Resolved.Accelerator = ""
	c.Variants[0].Scalers.List = nil
	for name, tt := range map[string]struct {
		filter Filter
		want   []string
	}{
		"all":       {Filter{}, []string{"WVA0204", "WVA0601"}},
		"only one":  {Filter{Only: []Code{"WVA0601"}}, []string{"WVA0601"}},
		"skip one":  {Filter{Skip: []Code{"WVA0601"}}, []string{"WVA0204"}},
		"only none": {Filter{Only: []Code{"WVA0701"}}, []string{}},
	} {
		if diff := cmp.Diff(codes(Diagnose(c, tt.filter)), tt.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestWhatIsSkippedExplainsOthersAllTheSame(t *testing.T) {
	c := healthy()
	silent(&c)
	c.Lease, c.Variants[0].Object.Status = Lease{Name: "a/b"}, v1alpha1.VariantAutoscalingStatus{}
	if got := codes(Diagnose(c, Filter{Skip: []Code{"WVA0105"}})); len(got) > 0 {
		t.Errorf("without a manager that leads, and without its finding: %v, want nothing", got)
	}
}

func TestAnHPAThatHasJustReadNothingIsNotNamed(t *testing.T) {
	c := healthy()
	scaler(inactive("no metrics returned"))(&c)
	c.Variants[0].Scalers.List[0].Inactive.Since = noon.Add(-10 * time.Second)
	if got := codes(Diagnose(c, Filter{})); len(got) > 0 {
		t.Errorf("found %v, want nothing before it has lasted for %s", got, passing)
	}
}

func TestTheSameOfManyVariantsIsOneFinding(t *testing.T) {
	c := healthy()
	unanswered("answered HTTP 401: Unauthorized")(&c)
	second := c.Variants[0]
	second.Object.Name = "second"
	second.Resolved.Key.Name = "second"
	c.Answer.Known[second.key()] = c.Answer.Known[c.Variants[0].key()]
	c.Variants = append(c.Variants, second)
	report := Diagnose(c, Filter{})
	if got := first(report); report.Found != 1 || !slices.Equal(got.Others, []string{"VariantAutoscaling chat/second"}) {
		t.Errorf("%d findings, the first %+v; want one that names the second variant too", report.Found, got)
	}
}

func TestBeforeAnInstallationOnlyWhatIsInItsWayIsFound(t *testing.T) {
	c := Case{Now: noon, Pre: true, System: system, Server: "v1.36.3", Definition: Definition{Absent: true}}
	if got := codes(Diagnose(c, Filter{})); len(got) > 0 {
		t.Errorf("found %v in an empty cluster", got)
	}
	c.API = APIService{Present: true, Available: true, Service: "keda/keda-operator-metrics-apiserver"}
	c.Denied = []Right{{Verb: "create", Group: "apps", Resource: "deployments", Namespace: system}}
	if diff := cmp.Diff(codes(Diagnose(c, Filter{})), []string{"WVA0102", "WVA0609"}); diff != "" {
		t.Errorf("codes (-got +want):\n%s", diff)
	}
}

func TestWhatPoliciesAllow(t *testing.T) {
	port8000, named, other := intstr.FromInt32(8000), intstr.FromString("http"), intstr.FromInt32(9000)
	from := func(ports ...intstr.IntOrString) networkingv1.NetworkPolicyIngressRule {
		rule := networkingv1.NetworkPolicyIngressRule{}
		for i := range ports {
			rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{Port: &ports[i]})
		}
		return rule
	}
	for name, tt := range map[string]struct {
		policies []networkingv1.NetworkPolicy
		blocked  bool
	}{
		"no policy":                    {nil, false},
		"a policy elsewhere":           {[]networkingv1.NetworkPolicy{policy("other")}, false},
		"no rule":                      {[]networkingv1.NetworkPolicy{policy("chat")}, true},
		"any port":                     {[]networkingv1.NetworkPolicy{policy("chat", from())}, false},
		"the port":                     {[]networkingv1.NetworkPolicy{policy("chat", from(port8000))}, false},
		"the port by its name":         {[]networkingv1.NetworkPolicy{policy("chat", from(named))}, false},
		"another port":                 {[]networkingv1.NetworkPolicy{policy("chat", from(other))}, true},
		"one denies and one allows it": {[]networkingv1.NetworkPolicy{policy("chat"), policy("chat", from(port8000))}, false},
	} {
		c := healthy()
		c.Policies = tt.policies
		if got := slices.Contains(codes(Diagnose(c, Filter{})), "WVA0801"); got != tt.blocked {
			t.Errorf("%s: blocked %t, want %t", name, got, tt.blocked)
		}
	}
}

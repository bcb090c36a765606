package tenants

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

const (
	// evil is the hostile namespace. Its name sorts between those of the honest ones, which begin
	// with a and with t: so an order by name shows.
	evil = "evil"
	// gpuProduct is the accelerator of honest variants.
	gpuProduct = "NVIDIA-H100-80GB-HBM3"
	// otherProduct is the accelerator of the hostile namespace where it shares none.
	otherProduct = "NVIDIA-L4"
	resourceGPU  = "nvidia.com/gpu"
	// perNamespace is the number of variants of an honest namespace, which run 16 replicas at most.
	// honestQuota is its number of accelerators.
	perNamespace = 8
	honestQuota  = 2*perNamespace + 2
)

// born returns the creation time of all objects: an hour before synctest begins.
func born() metav1.Time { return metav1.NewTime(time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)) }

// honestNamespace returns the name of the nth honest namespace.
func honestNamespace(n int) string { return fmt.Sprintf("%s-%02d", []string{"apples", "tea"}[n%2], n) }

// variantSpec describes a variant with all its objects.
type variantSpec struct {
	namespace, name, model, product string
	gpus, replicas                  int
	load                            load
	uncapped                        bool // of an engine whose maximum batch size is not read
	change                          func(*v1alpha1.VariantAutoscaling)
}

// addVariant adds a VariantAutoscaling, its Deployment, pods, pages and HPA.
func (c *cluster) addVariant(s variantSpec) {
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, UID: types.UID("va-" + s.namespace + "-" + s.name), Generation: 1, CreationTimestamp: born()}}
	va.Spec = v1alpha1.VariantAutoscalingSpec{
		ScaleTargetRef: &v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: kindDeployment, Name: s.name}, ModelID: s.model, VariantCost: "10", MinReplicas: 1,
	}
	if s.change != nil {
		s.change(va)
	}
	s.model = va.Spec.ModelID // which the pages name too
	c.addDeployment(s)
	c.add(va)
	c.addHPA(s.namespace, s.name, 1, 100)
}

// addDeployment adds a Deployment of a vLLM engine with its ReplicaSet and pods.
func (c *cluster) addDeployment(s variantSpec) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, UID: types.UID("d-" + s.namespace + "-" + s.name), Generation: 1, CreationTimestamp: born()}}
	d.Spec.Replicas = new(int32(s.replicas))
	d.Spec.Template.Spec = podSpec(s)
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: int32(s.replicas), ReadyReplicas: int32(s.replicas)}
	c.add(d)
	rs := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + "-1", UID: types.UID("rs-" + s.namespace + "-" + s.name), OwnerReferences: ownedBy(kindDeployment, d.Name, d.UID)}}
	rs.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindReplicaSet))
	c.add(rs)
	for i := range s.replicas {
		c.addPod(s, fmt.Sprintf("%s-1-%d", s.name, i), ownedBy(kindReplicaSet, rs.Name, rs.UID), s.load.page(s.model))
	}
}

func ownedBy(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: new(true)}}
}

func podSpec(s variantSpec) corev1.PodSpec {
	image, args := "vllm/vllm-openai:v0.10.0", []string{"--model", s.model, "--max-num-seqs", "64"}
	if s.uncapped {
		image, args = "lmsysorg/sglang:v0.5.0", nil
	}
	return corev1.PodSpec{
		NodeSelector: map[string]string{"nvidia.com/gpu.product": s.product},
		Containers: []corev1.Container{{
			Name: "vllm", Image: image, Args: args,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{resourceGPU: *resource.NewQuantity(int64(s.gpus), resource.DecimalSI)}},
		}},
	}
}

// addPod adds a Ready pod with a page, on the first node that has enough accelerators free.
func (c *cluster) addPod(s variantSpec, name string, owner []metav1.OwnerReference, served page) *corev1.Pod {
	host := fmt.Sprintf("10.%d.%d.%d", len(c.pages)>>16&255, len(c.pages)>>8&255, len(c.pages)&255)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: name, UID: types.UID("p-" + s.namespace + "-" + name), CreationTimestamp: born(), Labels: map[string]string{"app": s.name}, OwnerReferences: owner,
	}}
	p.Spec = podSpec(s)
	p.Spec.NodeName = c.nodeFor(s.product, s.gpus)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host, StartTime: new(born()), Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: born()}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: born()},
	}}
	c.pages[host] = served
	c.add(p)
	return p
}

// nodeFor takes gpus accelerators of the first node of a product that has them free, and returns
// its name, "" for none.
func (c *cluster) nodeFor(product string, gpus int) string {
	for i := range c.nodes {
		n := &c.nodes[i]
		left := n.Status.Capacity[resourceGPU] // the free accelerators: no other part of the test reads the capacity
		if n.Labels["nvidia.com/gpu.product"] != product || left.Value() < int64(gpus) {
			continue
		}
		n.Status.Capacity = corev1.ResourceList{resourceGPU: *resource.NewQuantity(left.Value()-int64(gpus), resource.DecimalSI)}
		return n.Name
	}
	return ""
}

// addNodes adds nodes of 8 accelerators of a product.
func (c *cluster) addNodes(product string, nodes int) {
	for range nodes {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", len(c.nodes)), Labels: map[string]string{"nvidia.com/gpu.product": product}}}
		has := corev1.ResourceList{resourceGPU: resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("110")}
		n.Status = corev1.NodeStatus{Capacity: has, Allocatable: has, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
		c.nodes = append(c.nodes, n)
	}
}

// addHPA adds an HPA that follows the decision on a variant.
func (c *cluster) addHPA(namespace, name string, least, most int32) {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	h.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kindDeployment, Name: name}, MinReplicas: &least, MaxReplicas: most,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "wva_desired_replicas", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"variant_name": name}}},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI)},
		}}},
	}
	c.add(h)
}

// addConfigMap adds a ConfigMap.
func (c *cluster) addConfigMap(namespace, name string, data map[string]string) {
	c.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

// addNamespace adds a namespace.
func (c *cluster) addNamespace(name string, annotations map[string]string) {
	n := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindNamespace))
	c.add(n)
}

// addHonest adds the honest namespaces of a case, and the settings of the operator.
func (c *cluster) addHonest(of Case) {
	random := rand.New(rand.NewPCG(1, uint64(of.Honest)))
	if of.Stock != StockUnlimited {
		c.addNodes(gpuProduct, nodesOf(of))
		c.addNodes(otherProduct, 8)
	}
	c.addNamespace(system, nil)
	for n := range of.Honest {
		namespace := honestNamespace(n / perNamespace)
		if n%perNamespace == 0 {
			c.addNamespace(namespace, nil)
			c.addConfigMap(namespace, "saturation-scaling-config", map[string]string{"default": "kvCacheThreshold: 0.85\n"})
		}
		name := fmt.Sprintf("variant-%03d", n)
		does := load{running: random.IntN(60), waiting: max(0, random.IntN(20)-12), usage: float64(random.IntN(100)) / 100, rate: float64(1+random.IntN(8)) / 2}
		if n%perNamespace/2 == 3 { // one model of four has to grow
			does = load{running: 64, waiting: 12, usage: 0.95, rate: 4}
		}
		c.addVariant(variantSpec{
			namespace: namespace, name: name, model: fmt.Sprintf("org/model-%03d", n-n%2), product: gpuProduct, gpus: 1, replicas: 1 + n%3,
			load: does,
			change: func(va *v1alpha1.VariantAutoscaling) {
				if n%4 < 2 { // models with a profile and an objective
					va.Spec.VariantProfile = profile(64)
				}
				va.Spec.MaxReplicas = new(int32(8))
				va.Spec.VariantCost = fmt.Sprint(20 + n%2)
			},
		})
	}
	c.addOperator(of)
}

func profile(batch int32) *v1alpha1.VariantProfile {
	return &v1alpha1.VariantProfile{MaxBatchSize: &batch, PerfParms: &v1alpha1.PerfParms{
		DecodeParms: map[string]string{"alpha": "6.5", "beta": "0.2"}, PrefillParms: map[string]string{"gamma": "10", "delta": "0.01"},
	}}
}

// addOperator adds the ConfigMaps of the manager's own namespace.
func (c *cluster) addOperator(of Case) {
	c.addConfigMap(system, "wva-variantautoscaling-config", map[string]string{
		"WVA_LIMITED_MODE": fmt.Sprint(of.Stock != StockUnlimited), "WVA_TRUST_NAMESPACES": fmt.Sprint(of.Trust), "WVA_SCALE_TO_ZERO": "false",
	})
	var rows strings.Builder
	for n := 0; n < of.Honest; n += 4 {
		fmt.Fprintf(&rows, "- {model: org/model-%03d, namespace: %s, slo-tpot: 40, slo-ttft: 1000}\n", n, honestNamespace(n/perNamespace))
	}
	for n := range (of.Honest + perNamespace - 1) / perNamespace {
		fmt.Fprintf(&rows, "- {model: default/default, namespace: %s, slo-tpot: 80, slo-ttft: 4000}\n", honestNamespace(n))
	}
	c.addConfigMap(system, "service-classes-config", map[string]string{
		"premium": "name: Premium\npriority: 1\ndata:\n" + rows.String(), "freemium": "name: Freemium\npriority: 90\ndata:\n- {model: default/default, slo-tpot: 200, slo-ttft: 9000}\n",
	})
	c.addConfigMap(system, "accelerator-unit-costs", map[string]string{"H100": `{"device": "` + gpuProduct + `", "cost": "40.00"}`})
	c.addConfigMap(system, "saturation-scaling-config", map[string]string{"default": "kvCacheThreshold: 0.8\nqueueLengthThreshold: 5\n"})
	if of.Stock == StockQuota {
		var quotas strings.Builder
		fmt.Fprintf(&quotas, "namespaceQuotas:\n  %s: {H100: %d}\n", evil, evilQuota)
		for n := range (of.Honest + perNamespace - 1) / perNamespace {
			fmt.Fprintf(&quotas, "  %s: {H100: %d}\n", honestNamespace(n), honestQuota)
		}
		c.addConfigMap(system, "wva-quota-config", map[string]string{"quotas": quotas.String()})
	}
}

// nodesOf returns the number of nodes with 8 accelerators in a limited case: enough for all quotas,
// or without quotas two on which no replica runs.
func nodesOf(of Case) int {
	if of.Stock == StockQuota {
		namespaces := (of.Honest + perNamespace - 1) / perNamespace
		return (namespaces*honestQuota + evilQuota + 7) / 8
	}
	return (2*of.Honest+7)/8 + 2
}

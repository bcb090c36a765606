package tenants

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// moveKind is a kind of Move.
type moveKind struct {
	most int // the largest size
	make func(h *hostile, size int)
}

// moves returns every kind of move by its name.
func moves() map[string]moveKind {
	return map[string]moveKind{
		// VariantAutoscalings; the comment says what size counts.
		"minimum":        {math.MaxInt32, minimum},   // minReplicas
		"claim":          {math.MaxInt32, claim},     // acceleratorCount
		"claims":         {8, claims},                // variants that claim 2^31-1
		"unbounded":      {math.MaxInt32, unbounded}, // minReplicas with the limiter off
		"crowd":          {1000, crowd},              // VariantAutoscalings of one model
		"models":         {60, models},               // models
		"long-model":     {250_000, longModel},       // bytes of a modelID
		"class":          {4, class},                 // variants with IDs of others
		"batch":          {math.MaxInt32, batch},     // maxBatchSize
		"batches":        {20, batches},              // variants of one model with 2^20
		"targets":        {60, targets},              // variants with odd targets
		"hanging":        {60, hanging},              // variants whose targets do not answer
		"strange-va":     {30, strangeVariants},      // variants with drawn fields
		"mutated-va":     {30, mutatedVariants},      // mutated variants
		"annotations":    {20, annotations},          // variants with annotations and labels
		"long-reference": {200_000, longReference},   // bytes of other texts of a spec
		// ConfigMaps.
		"aliases":        {10_000, aliases},       // YAML aliases
		"deep":           {5_000, deep},           // levels of YAML
		"long-entry":     {250_000, longEntry},    // bytes of a modelID that is not served
		"entries":        {5_000, entries},        // entries for models that are not served
		"odd-entries":    {200, oddEntries},       // entries of drawn values
		"mutated-config": {13, mutatedConfigMaps}, // mutated ConfigMaps
		// Workloads and pods.
		"expansion": {15_000, expansion},       // uses of a variable
		"replicas":  {math.MaxInt32, replicas}, // of a Deployment without pods
		"template":  {60, templates},           // odd pod templates
		"rollout":   {1 << 20, rollout},        // accelerators that a paused rollout would request
		"pods":      {60, oddPods},             // odd pods
		"pending":   {16, pending},             // pods that wait for accelerators
		// Pages.
		"series":       {20_000, series},   // series of one page, a model each
		"odd-page":     {60, oddPages},     // pages with odd numbers
		"mutated-page": {60, mutatedPages}, // mutated pages
		"long-page":    {1_000, longPage},  // kB of one line
		"no-page":      {60, noPages},      // pages that fail or hang
		"picker":       {5_000, picker},    // series of an endpoint picker
		// Scalers.
		"hpa":           {60, oddHPAs},       // odd HPAs
		"scaled-object": {60, scaledObjects}, // odd ScaledObjects
	}
}

func minimum(h *hostile, size int) {
	h.variant("minimum", h.random.IntN(3), func(va *v1alpha1.VariantAutoscaling) { va.Spec.MinReplicas = int32(size) })
}

// lies returns a change that sets an accelerator count other than the template's.
func (h *hostile) lies(count int) func(*v1alpha1.VariantAutoscaling) {
	return func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.AcceleratorCount = new(int32(count))
		va.Spec.MinReplicas = int32(h.random.IntN(4))
		if h.of.Stock != StockApart && h.random.IntN(2) == 0 {
			va.Spec.Accelerator = "H100"
		}
	}
}

func claim(h *hostile, size int) {
	name := h.name("claim")
	h.rawVariant(variantSpec{namespace: evil, name: name, model: "evil/" + name, product: h.product(), gpus: h.random.IntN(2), replicas: 1, change: h.lies(size), load: load{running: 60, waiting: 9, usage: 1, rate: 2}})
}

func claims(h *hostile, size int) {
	for range size {
		name := h.name("claims")
		h.rawVariant(variantSpec{namespace: evil, name: name, model: "evil/" + name, product: h.product(), replicas: pick(h, 0, 1, math.MaxInt32), change: h.lies(math.MaxInt32)})
	}
	h.variant("behind", 1, func(va *v1alpha1.VariantAutoscaling) { va.Spec.MinReplicas = 64 })
}

func unbounded(h *hostile, size int) {
	h.addConfigMap(evil, "saturation-scaling-config", map[string]string{"default": "enableLimiter: false\n"})
	h.addConfigMap(evil, "variantautoscaling-config", map[string]string{"WVA_LIMITED_MODE": "false"})
	minimum(h, size)
}

// crowd adds VariantAutoscalings with long names and orders that no scaler carries out.
func crowd(h *hostile, size int) {
	model := "evil/" + h.name("crowd")
	h.variant("full", 1, func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = model })
	for range size {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: h.name(strings.Repeat("n", 230)), CreationTimestamp: born()}}
		d.UID = types.UID(d.Name)
		d.Spec.Replicas = new(int32(0))
		h.add(d)
		va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: d.Name, UID: types.UID("va-" + d.Name), CreationTimestamp: born()}}
		va.Spec = v1alpha1.VariantAutoscalingSpec{ModelID: model, MinReplicas: 1, VariantCost: "10"}
		if h.add(va) {
			h.variants++
		}
	}
}

func models(h *hostile, size int) {
	for range size {
		h.variant("models", 1, nil)
	}
}

func longModel(h *hostile, size int) {
	h.variant("long", 1, func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = h.text(size) })
}

func class(h *hostile, size int) {
	h.addConfigMap(evil, "service-classes-config", map[string]string{"mine": "name: Mine\npriority: 1\ndata:\n- {model: default/default, slo-tpot: 1, slo-ttft: 1}\n"})
	for range size {
		h.variant("class", 1+h.random.IntN(4), func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.ModelID = fmt.Sprintf("org/model-%03d", 4*h.random.IntN((h.of.Honest+3)/4))
			va.Spec.MinReplicas = int32(pick(h, 0, 4, 1000))
			va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: "service-classes-config", Key: pick(h, "premium", "mine", "freemium")}
		})
	}
}

func batch(h *hostile, size int) { h.sized("evil/"+h.name("batch"), profile(int32(size))) }

func batches(h *hostile, size int) {
	model := "evil/" + h.name("batches")
	for range size {
		h.sized(model, profile(1<<20))
	}
}

// sized adds a variant with a profile whose maximum batch size its engine does not limit.
func (h *hostile) sized(model string, of *v1alpha1.VariantProfile) {
	h.rawVariant(variantSpec{
		namespace: evil, name: h.name("sized"), model: model, product: h.product(), gpus: 1, replicas: 1, uncapped: true, load: load{running: 20, waiting: 5, usage: 0.5, rate: 2, unknownCache: true},
		change: func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantProfile = of },
	})
}

func targets(h *hostile, size int) {
	for range size {
		h.variant("target", h.random.IntN(2), func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{
				APIVersion: pick(h, "", "apps/v1", "example.com/v1", "v1", "a/b/c"), Kind: pick(h, kindScalable, kindOfAll, kindDeployment, "Node", "Absent"),
				Name: pick(h, "same", va.Name, "variant-000", h.text(60)),
			}
			if h.random.IntN(2) == 0 {
				va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "scale"}
			}
		})
	}
}

// hanging adds variants of a kind whose webhook does not answer.
func hanging(h *hostile, size int) {
	for range size {
		h.variant("hanging", 0, func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "example.com/v1", Kind: kindHanging, Name: va.Name}
			va.Annotations = map[string]string{v1alpha1.AnnotationActuation: pick(h, "scale", "metrics")}
		})
	}
}

func strangeVariants(h *hostile, size int) {
	for range size {
		h.variant("strange", h.random.IntN(3), func(va *v1alpha1.VariantAutoscaling) {
			s := &va.Spec
			s.ModelID = pick(h, "m", h.stranger(), h.text(300))
			s.VariantCost = pick(h, "0", "10", "1", strings.Repeat("9", 1+h.random.IntN(400)), "0.0000000001")
			s.VariantID = pick(h, "", "org/model-000-H100-1", h.text(40)+"-A100-1")
			s.MaxReplicas = pick(h, nil, new(int32(1)), new(int32(math.MaxInt32)))
			if h.of.Stock != StockApart {
				s.Accelerator = pick(h, "", "H100", "h100", h.text(100))
			}
			s.VariantProfile = &v1alpha1.VariantProfile{MaxBatchSize: pick(h, nil, new(int32(1)), new(int32(math.MaxInt32))), PerfParms: &v1alpha1.PerfParms{
				DecodeParms: map[string]string{"alpha": h.number(), "beta": h.number()}, PrefillParms: map[string]string{"gamma": h.number(), "delta": h.number()},
			}}
		})
	}
}

func mutatedVariants(h *hostile, size int) {
	for range size {
		h.variant("mutated", h.random.IntN(3), func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.VariantProfile = profile(64)
			honest, err := json.Marshal(va.Spec)
			var spec v1alpha1.VariantAutoscalingSpec
			if err == nil && json.Unmarshal(h.mutate(honest), &spec) == nil && (h.of.Stock != StockApart || spec.Accelerator == "") {
				va.Spec = spec
			}
		})
	}
}

func annotations(h *hostile, size int) {
	for range size {
		h.variant("annotated", 1, func(va *v1alpha1.VariantAutoscaling) {
			va.Annotations = map[string]string{
				v1alpha1.AnnotationPaused: pick(h, "true", "false", h.text(100)), v1alpha1.AnnotationActuation: pick(h, "scale", "zero", "metrics", h.text(5_000)),
				v1alpha1.AnnotationMarked: h.text(10), v1alpha1.AnnotationExclude: "true",
			}
			va.Labels = map[string]string{v1alpha1.LabelControllerInstance: "another"}
			if h.of.Stock != StockApart {
				va.Labels[v1alpha1.LabelAcceleratorName] = pick(h, "H100", "x", "")
			}
		})
	}
}

func longReference(h *hostile, size int) {
	h.variant("reference", 1, func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: h.text(size), Key: h.text(size)}
		va.Spec.ScaleTargetRef.Name = h.text(min(size, 5_000))
		if h.of.Stock != StockApart {
			va.Spec.Accelerator = h.text(size)
		}
	})
}

// expansion adds a Deployment with an argument that names a long variable size times.
func expansion(h *hostile, size int) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: h.name("expansion"), CreationTimestamp: born()}}
	d.UID = types.UID(d.Name)
	d.Spec.Replicas = new(int32(0))
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "c", Image: pick(h, "busybox", "vllm/vllm-openai"), Args: []string{strings.Repeat("$(A)", size)}, Env: []corev1.EnvVar{{Name: "A", Value: strings.Repeat("a", 30_000)}},
	}}
	h.add(d)
}

func replicas(h *hostile, size int) { h.variant("replicas", size, nil) }

// rollout adds a Deployment whose pods have an earlier template, which requested one accelerator.
func rollout(h *hostile, size int) {
	s := variantSpec{namespace: evil, name: h.name("rollout"), product: h.product(), gpus: 1, replicas: 1 + h.random.IntN(8), load: load{running: 60, waiting: 9, usage: 1, rate: 2}}
	s.model = "evil/" + s.name
	h.rawVariant(s)
	if d, ok := h.object(kindDeployment, evil, s.name).(*appsv1.Deployment); ok {
		s.gpus = size
		d.Spec.Template.Spec = podSpec(s)
	}
}

func templates(h *hostile, size int) {
	for range size {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: h.name("template"), CreationTimestamp: born()}}
		d.UID = types.UID(d.Name)
		d.Spec.Replicas = new(int32(h.random.IntN(3)))
		gpus := *resource.NewQuantity(pick[int64](h, 0, 1, 8, 1<<40, math.MaxInt64), resource.DecimalSI)
		for range 1 + h.random.IntN(8) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
				Name: "c", Image: pick(h, "vllm/vllm-openai", h.text(50)), Command: []string{pick(h, "vllm", "sh", h.text(20))},
				Args:      []string{"serve", "--max-num-seqs", h.number(), "--max-num-batched-tokens=" + h.number(), "--tensor-parallel-size", h.number(), h.text(2_000)},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{resourceGPU: gpus}},
			})
		}
		if h.of.Stock != StockApart {
			d.Spec.Template.Spec.NodeSelector = map[string]string{"nvidia.com/gpu.product": gpuProduct}
		}
		d.Spec.Template.Spec.TerminationGracePeriodSeconds = pick(h, nil, new(int64(math.MaxInt64)), new(int64(-1)))
		h.add(d)
		if h.variants < mostVariants {
			h.variants++
			h.add(&v1alpha1.VariantAutoscaling{
				ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: d.Name, UID: types.UID("va-" + d.Name), CreationTimestamp: born()},
				Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "evil/" + pick(h, "one", d.Name), VariantCost: "10", MinReplicas: int32(pick(h, 0, 1, 1000))},
			})
		}
	}
}

func oddPods(h *hostile, size int) {
	honest := h.list(kindPod, honestNamespace(0))
	for range size {
		h.pod(load{running: 1000, waiting: 1000, usage: 1, rate: 100}.page(h.stranger()), func(p *corev1.Pod) {
			p.Annotations = map[string]string{
				"prometheus.io/port": pick(h, "8000", "0", "99999", h.number()), "prometheus.io/path": pick(h, "/metrics", "//10.0.0.0/metrics", h.text(1_000)),
				"prometheus.io/scheme": pick(h, "http", "https", h.text(10)), "wva.llmd.ai/page": "http://10.0.0.0/metrics",
			}
			p.Labels = map[string]string{"inferencepool": "x", "app": "variant-000"}
			if len(honest) > 0 && h.random.IntN(2) == 0 { // claims to belong to another namespace's workload
				p.OwnerReferences = honest[h.random.IntN(len(honest))].GetOwnerReferences()
			}
			p.Status.PodIP = pick(h, p.Status.PodIP, p.Status.PodIP, "", "10.0.0.0", "::1")
		})
	}
}

// pending adds pods that request accelerators and have no node.
func pending(h *hostile, size int) {
	for range size {
		if h.of.shares() && h.requested >= evilQuota {
			return
		}
		h.requested++
		h.pod(page{status: 503, lines: func(int, time.Time) string { return "" }}, func(p *corev1.Pod) {
			p.Spec = podSpec(variantSpec{product: h.product(), gpus: 1})
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: born()},
			}}
		})
	}
}

func oddHPAs(h *hostile, size int) {
	for range size {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: h.name("hpa")}}
		hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: pick(h, "apps/v1", "", h.text(10)), Kind: pick(h, kindDeployment, h.text(5)), Name: pick(h, "ordinary-1", h.stranger())},
			MinReplicas:    pick(h, nil, new(int32(math.MaxInt32))), MaxReplicas: pick[int32](h, 1, math.MaxInt32),
		}
		for range h.random.IntN(20) {
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: pick(h, "wva_desired_replicas", h.text(200)), Selector: pick(h, nil, &metav1.LabelSelector{MatchLabels: map[string]string{h.text(20): h.text(20)}})},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(h.random.Int64(), resource.DecimalSI)},
			}})
		}
		hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: h.text(100), Message: h.text(30_000)}}
		h.add(hpa)
	}
}

func scaledObjects(h *hostile, size int) {
	for range size {
		honest := fmt.Sprintf(`{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"namespace":%q,"name":%q},"spec":{"scaleTargetRef":{"name":"ordinary-1"},"minReplicaCount":1,
"triggers":[{"type":"prometheus","metadata":{"query":"wva_desired_replicas{variant_name=\"ordinary-1\"}","threshold":"1"}}]},"status":{"conditions":[{"type":"Ready","status":"False","message":"m"}]}}`, evil, h.name("so"))
		u := &unstructured.Unstructured{}
		text := []byte(honest)
		if h.random.IntN(4) > 0 {
			text = h.mutate(text)
		}
		if u.UnmarshalJSON(text) == nil && u.GetKind() == kindScaledObject && u.GetNamespace() == evil && u.GetName() != "" {
			h.add(u)
		}
	}
}

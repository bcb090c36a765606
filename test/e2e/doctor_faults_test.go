//go:build e2e

package e2e

import (
	"net"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/faults"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// parts are the objects of the variant in which a fault is.
type parts struct {
	namespace  string
	variant    testbed.Variant // change it before the others: they are made of it
	deployment *appsv1.Deployment
	va         *v1alpha1.VariantAutoscaling
	hpa        *autoscalingv2.HorizontalPodAutoscaler
	first      []client.Object // further objects, which are applied before those
	then       []client.Object // and after those
	labels     map[string]string
	notes      map[string]string // annotations of the namespace
}

// variantFaults change the variant of a fault, by what the fault is called: first what its
// objects are made of, then the objects.
var variantFaults = map[string]struct {
	variant func(v *testbed.Variant)
	objects func(p *parts)
}{
	"wrong-model-id": {objects: func(p *parts) { p.va.Spec.ModelID = "meta/wrong-modelid" }},
	// Prometheus has these: see scrape.
	"missing-pod-label": {}, "unknown-prefix": {},
	"scraped-through-service": {variant: func(v *testbed.Variant) { v.Replicas, v.Min = 2, 2 }},
	"monitor-selects-nothing": {objects: func(p *parts) {
		p.then = append(p.then, serviceMonitor(p.namespace), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: plumbed, Labels: map[string]string{"app": plumbed}},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": plumbed}, Ports: []corev1.ServicePort{{Name: "http", Port: 8000}},
			},
		})
	}},
	"network-policy": {objects: func(p *parts) {
		p.then = append(p.then, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "deny"},
			Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}},
		})
	}},

	"hpa-other-metric": {objects: func(p *parts) { p.hpa.Spec.Metrics[0].External.Metric.Name = "vllm_queue_length" }},
	"hpa-tolerance": {
		variant: func(v *testbed.Variant) { v.Replicas, v.Min = 2, 3 },
		objects: func(p *parts) {
			half := resource.MustParse("0.5") // 3 of 2 are just within
			p.hpa.Spec.Behavior.ScaleUp.Tolerance = &half
		},
	},
	"hpa-behavior-disabled": {
		variant: func(v *testbed.Variant) { v.Min = 2 },
		objects: func(p *parts) {
			never := autoscalingv2.DisabledPolicySelect
			p.hpa.Spec.Behavior.ScaleUp.SelectPolicy = &never
		},
	},
	"hpa-max-below": {
		variant: func(v *testbed.Variant) { v.Min = 2 },
		objects: func(p *parts) { p.hpa.Spec.MaxReplicas = 1 },
	},
	"two-scalers": {
		variant: func(v *testbed.Variant) { v.Min = 2 },
		objects: func(p *parts) {
			p.hpa.Spec.MaxReplicas = 1 // the first one acts until the second is there
			second := p.hpa.DeepCopy()
			second.Name += "-too"
			p.then = append(p.then, second)
		},
	},
	"scaledobject-paused": {
		variant: func(v *testbed.Variant) { v.Min, v.NoHPA = 2, true },
		objects: func(p *parts) { p.then = append(p.then, pausedScaledObject(p.namespace)) },
	},

	"pods-unschedulable": {variant: func(v *testbed.Variant) { v.GPU, v.Accelerator, v.Min = "NVIDIA-B200", "B200", 2 }},
	"quota-exhausted": {
		variant: func(v *testbed.Variant) { v.Min = 3 },
		objects: func(p *parts) {
			p.first = append(p.first, &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "one-pod"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
			})
		},
	},
	"image-not-pulled": {objects: func(p *parts) {
		// On the node whose kubelet pulls images.
		pod := &p.deployment.Spec.Template.Spec
		pod.NodeSelector, pod.Containers[0].Resources = nil, corev1.ResourceRequirements{}
		pod.Containers[0].Image = "registry.example.com/vllm:v0"
	}},
	"never-ready": {variant: func(v *testbed.Variant) { v.StartUp, v.Min = time.Hour, 2 }}, // one was Ready before: see startPlumbing

	"other-instance":     {objects: func(p *parts) { p.labels[v1alpha1.LabelControllerInstance] = "west" }},
	"excluded-namespace": {objects: func(p *parts) { p.notes[v1alpha1.AnnotationExclude] = "true" }},
	"class-of-another-model": {objects: func(p *parts) {
		p.first = append(p.first,
			configMap(p.namespace, "saturation-scaling-config", "default", "engine: queueing"),
			configMap(p.namespace, "service-classes-config", "premium", class("Premium", 1, p.variant.ModelID+"-instruct")))
	}},
	"profile-of-another-accelerator": {objects: func(p *parts) {
		p.first = append(p.first,
			configMap(p.namespace, "saturation-scaling-config", "default", "engine: queueing"),
			configMap(p.namespace, "service-classes-config", "premium", class("Premium", 1, p.variant.ModelID)))
		p.va.Spec.ModelProfile = &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{{
			Acc: "H100", AccCount: new(int32(1)), MaxBatchSize: new(int32(64)),
			PerfParms: &v1alpha1.PerfParms{
				DecodeParms: map[string]string{"alpha": "7", "beta": "0.1"}, PrefillParms: map[string]string{"gamma": "7", "delta": "0.01"},
			},
		}}}
	}},
}

// inject makes the fault of a variant or of a manager.
func (p *plumbing) inject(t *testing.T, f faults.Plumbing) *site {
	t.Helper()
	s := &site{Plumbing: f, namespace: namespaceOf(f.ID), system: mainRelease}
	v := aside(s.namespace, plumbed)
	v.ModelID, v.NoHPA = "meta/"+f.ID, false
	of := parts{namespace: s.namespace, labels: map[string]string{}, notes: map[string]string{}}
	if f.Scope == faults.OfVariant {
		of.labels[v1alpha1.LabelControllerInstance] = mainInstance
	} else { // its manager serves this namespace alone, and sets the replicas
		s.system, v.NoHPA, v.Actuation = s.namespace, true, "scale"
	}
	change, known := variantFaults[f.ID]
	if f.Scope == faults.OfVariant && !known {
		t.Fatalf("there is no way to inject %s", f.ID)
	}
	if change.variant != nil {
		change.variant(&v)
	}
	of.variant = v
	for _, o := range v.Objects() {
		switch o := o.(type) {
		case *appsv1.Deployment:
			of.deployment = o
		case *v1alpha1.VariantAutoscaling:
			of.va = o
		case *autoscalingv2.HorizontalPodAutoscaler:
			o.Spec.Behavior = o.Spec.Behavior.DeepCopy() // both directions share their rules
			of.hpa = o
		}
	}
	if change.objects != nil {
		change.objects(&of)
	}
	of.va.Labels = of.labels
	p.apply(t, s.namespace, of.first...)
	if len(of.notes) > 0 {
		p.apply(t, s.namespace, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace, Annotations: of.notes}})
	}
	objects := []client.Object{of.deployment, of.va}
	if of.hpa != nil {
		objects = append(objects, of.hpa)
	}
	p.apply(t, s.namespace, append(objects, of.then...)...)
	s.begun = time.Now()
	if f.ID == "scraped-through-service" {
		p.load(t, s.namespace, v.ModelID)
	}
	return s
}

// load sends requests to a model until the cluster ends: so few that mostly none runs, so that the token counters
// of two pods differ by more than they grow by between two scrapes.
func (p *plumbing) load(t *testing.T, namespace, model string) {
	t.Helper()
	if _, err := p.bed.StartLoad("load-"+namespace, "--url", p.emulator.Endpoint(namespace, model), "--model", model,
		"--profile", "constant(0.2,900s)", "--input-tokens", "200", "--output-tokens", "200", "--quiet"); err != nil {
		t.Fatal(err)
	}
}

func configMap(namespace, name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: text}}
}

// serviceMonitor selects no Service of its namespace.
func serviceMonitor(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"metadata": map[string]any{"namespace": namespace, "name": "vllm"},
		"spec": map[string]any{
			"selector":  map[string]any{"matchLabels": map[string]any{"app": "vllm"}},
			"endpoints": []any{map[string]any{"port": "http"}},
		},
	}}
}

// pausedScaledObject reads the decision and is paused.
func pausedScaledObject(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"namespace": namespace, "name": plumbed, "annotations": map[string]any{"autoscaling.keda.sh/paused": "true"}},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": plumbed},
			"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
				"serverAddress": "http://prometheus:9090", "query": `wva_desired_replicas{variant_name="` + plumbed + `"}`, "threshold": "1",
			}}},
		},
	}}
}

// silentPort returns an address that takes connections until the test ends and answers none.
func silentPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

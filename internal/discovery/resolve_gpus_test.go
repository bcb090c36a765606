package discovery

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestTheStockCountsWhatPodsRequest: acceleratorCount is the variant's cost and ID, and
// takes no accelerators of others.
func TestTheStockCountsWhatPodsRequest(t *testing.T) {
	requesting := func(quantities ...string) *corev1.PodSpec {
		pod := &corev1.PodSpec{}
		for _, q := range quantities {
			pod.Containers = append(pod.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(q)},
			}})
		}
		return pod
	}
	for name, tt := range map[string]struct {
		pod         *corev1.PodSpec
		says        int32                // 0 for nothing
		cost, stock scaling.Accelerators // accelerators of a replica
	}{
		"what the template requests":           {requesting("4"), 0, 4, 4},
		"more is said":                         {requesting("1"), 100_000, 100_000, 1},
		"less is said":                         {requesting("8"), 1, 1, 8},
		"none is requested":                    {requesting(), 100_000, 100_000, 1},
		"no template":                          {nil, 8, 8, 8},
		"more is requested than can be summed": {requesting("9E", "9E"), 0, mostRequested, mostRequested},
	} {
		t.Run(name, func(t *testing.T) {
			va := variant("v", func(va *v1alpha1.VariantAutoscaling) {
				if tt.says > 0 {
					va.Spec.AcceleratorCount = &tt.says
				}
			})
			v := resolve(va, target{pod: tt.pod}, nil)
			if v.GPUsPerReplica != tt.cost || v.GPUs(1) != tt.stock {
				t.Errorf("%d for the cost and %d for the stock, want %d and %d", v.GPUsPerReplica, v.GPUs(1), tt.cost, tt.stock)
			}
		})
	}
}

// TestReplicasOfATemplateThatRequestsNoDeviceHoldNoAccelerators goes through the cache,
// which keeps a part of templates.
func TestReplicasOfATemplateThatRequestsNoDeviceHoldNoAccelerators(t *testing.T) {
	list := func(name corev1.ResourceName, quantity string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{name: resource.MustParse(quantity)}}
	}
	for name, tt := range map[string]struct {
		init, main corev1.ResourceRequirements
		want       scaling.Accelerators // held by 2 replicas
	}{
		"CPU alone":                     {main: list("cpu", "4")},
		"none of a device":              {main: list("nvidia.com/gpu", "0")},
		"accelerators":                  {main: list("nvidia.com/gpu", "4"), want: 8},
		"a device of an unknown vendor": {main: list("example.com/npu", "1"), want: 2},
		"accelerators of a sidecar":     {init: list("nvidia.com/gpu", "1"), want: 2},
		"a device of a resource claim":  {main: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "sidecar", Resources: tt.init}}, Containers: []corev1.Container{{Name: "vllm", Resources: tt.main}},
			}}
			kept := stripTemplate(template)
			if got := resolve(variant("v"), target{pod: &kept.Spec}, nil).Holds(2); got != tt.want {
				t.Errorf("2 replicas hold %d accelerators, want %d", got, tt.want)
			}
		})
	}
}

// TestPodsOfAnEarlierTemplateHoldWhatTheyRequest: while a rollout is paused the template
// says nothing of the pods that run. They go through the cache, as again after a resync.
func TestPodsOfAnEarlierTemplateHoldWhatTheyRequest(t *testing.T) {
	requesting := func(gpus string) corev1.PodSpec {
		c := corev1.Container{}
		if gpus != "" {
			c.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
		}
		return corev1.PodSpec{Containers: []corev1.Container{c}}
	}
	for name, tt := range map[string]struct {
		template string
		pods     []string
		current  scaling.Replicas
		each     scaling.Accelerators // accelerators that a replica counts for
		held     scaling.Accelerators // by current replicas
	}{
		"the template that they are of":      {"2", []string{"2", "2"}, 2, 2, 4},
		"a template that requests more":      {"8", []string{"1", "1"}, 2, 8, 2},
		"one of them has no pod yet":         {"8", []string{"1", "1"}, 3, 8, 10},
		"a template that requests less":      {"1", []string{"8", "8"}, 2, 8, 16},
		"a template that requests no device": {"", []string{"8", "8"}, 2, 8, 16},
		"pods that request no device":        {"8", []string{"", ""}, 2, 8, 0},
		"a rollout under way":                {"4", []string{"1", "1", "4"}, 2, 4, 6},
		"more pods than replicas":            {"8", []string{"1", "1", "8", "8"}, 2, 8, 16},
	} {
		t.Run(name, func(t *testing.T) {
			template := requesting(tt.template)
			of := target{pod: &template, current: tt.current}
			for _, gpus := range tt.pods {
				var object any = &corev1.Pod{Spec: requesting(gpus)}
				for range 2 {
					var err error
					if object, err = strip(object); err != nil {
						t.Fatal(err)
					}
				}
				kept, ok := object.(*corev1.Pod)
				if !ok {
					t.Fatalf("%T is no pod", object)
				}
				p, _ := living(kept)
				of.pods = append(of.pods, p)
			}
			v := resolve(variant("v"), of, nil)
			if v.GPUs(1) != tt.each || v.Held(tt.current) != tt.held {
				t.Errorf("%d for a replica and %d held, want %d and %d", v.GPUs(1), v.Held(tt.current), tt.each, tt.held)
			}
		})
	}
}

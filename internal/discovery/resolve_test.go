package discovery

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// variant returns an object of namespace ns with the given changes.
func variant(name string, change ...func(*v1alpha1.VariantAutoscaling)) *v1alpha1.VariantAutoscaling {
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "m", VariantCost: "10"},
	}
	for _, f := range change {
		f(va)
	}
	return va
}

func targeting(kind, name string) func(*v1alpha1.VariantAutoscaling) {
	return func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: kind, Name: name}
	}
}

// selecting returns a pod that wants its node to have a label.
func selecting(label, value string) *corev1.PodSpec {
	return &corev1.PodSpec{NodeSelector: map[string]string{label: value}}
}

// affine returns a pod whose required node affinity has one term for each list
// of products; nil is a term about something else.
func affine(terms ...[]string) *corev1.PodSpec {
	selector := &corev1.NodeSelector{}
	for _, products := range terms {
		e := corev1.NodeSelectorRequirement{Key: "nvidia.com/gpu.product", Operator: corev1.NodeSelectorOpIn, Values: products}
		if products == nil {
			e = corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}})
	}
	return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}}
}

func TestAcceleratorComesFromTheFirstSourceThatHasOne(t *testing.T) {
	profile := func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ModelProfile = &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{{Acc: "G2"}, {Acc: "H100"}}}
	}
	label := func(va *v1alpha1.VariantAutoscaling) {
		va.Labels = map[string]string{v1alpha1.LabelAcceleratorName: "MI300X"}
	}
	spec := func(va *v1alpha1.VariantAutoscaling) { va.Spec.Accelerator = "L40S" }
	a100 := selecting("nvidia.com/gpu.product", "NVIDIA-A100-PCIE-80GB")
	tests := map[string]struct {
		va   *v1alpha1.VariantAutoscaling
		pod  *corev1.PodSpec
		want string
	}{
		"spec before all":                 {variant("v", spec, label, profile), a100, "L40S"},
		"label before profile":            {variant("v", label, profile), a100, "MI300X"},
		"first of the profile":            {variant("v", profile), a100, "G2"},
		"node selector":                   {variant("v"), a100, "A100"},
		"node selector of a cloud":        {variant("v"), selecting("cloud.google.com/gke-accelerator", "nvidia-tesla-t4"), "T4"},
		"node selector, AMD":              {variant("v"), selecting("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"), "MI300X"},
		"node selector, Intel Gaudi":      {variant("v"), selecting("intel.com/gpu.product", "Intel-Gaudi-2-96GB"), "Gaudi-2"},
		"node selector, Intel GPU":        {variant("v"), selecting("gpu.intel.com/product", "Max_1550"), "Max-1550"},
		"node selector of something else": {variant("v"), selecting("zone", "a"), ""},
		"affinity":                        {variant("v"), affine([]string{"NVIDIA-H100-80GB-HBM3"}), "H100"},
		"affinity, two names of one type": {variant("v"), affine([]string{"NVIDIA-A100-PCIE-80GB", "NVIDIA-A100-SXM4-80GB"}), "A100"},
		"affinity that leaves two types":  {variant("v"), affine([]string{"NVIDIA-A100-PCIE-80GB", "NVIDIA-L4"}), ""},
		"affinity with an open term":      {variant("v"), affine([]string{"NVIDIA-L4"}, nil), ""},
		"affinity, two terms of one type": {variant("v"), affine([]string{"NVIDIA-L4"}, []string{"NVIDIA-L4"}), "L4"},
		"nothing":                         {variant("v"), &corev1.PodSpec{}, ""},
		"no template":                     {variant("v"), nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := accelerator(tt.va, target{pod: tt.pod}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGPUsPerReplica(t *testing.T) {
	asking := func(requests, limits corev1.ResourceList) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	gpus := func(name corev1.ResourceName, n string) corev1.ResourceList {
		return corev1.ResourceList{name: resource.MustParse(n)}
	}
	counted := func(n int32) func(*v1alpha1.VariantAutoscaling) {
		return func(va *v1alpha1.VariantAutoscaling) { va.Spec.AcceleratorCount = &n }
	}
	profiled := func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ModelProfile = &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{{Acc: "A100", AccCount: new(int32(4))}}}
	}
	onH100 := func(va *v1alpha1.VariantAutoscaling) { va.Spec.Accelerator = "H100" }
	eight := &corev1.PodSpec{Containers: []corev1.Container{asking(gpus("nvidia.com/gpu", "8"), nil)}}
	tests := map[string]struct {
		va   *v1alpha1.VariantAutoscaling
		pod  *corev1.PodSpec
		want scaling.Accelerators
	}{
		"spec before the target":   {variant("v", counted(2)), eight, 2},
		"target before profile":    {variant("v", profiled), eight, 8},
		"profile":                  {variant("v", profiled), nil, 4},
		"profile of another type":  {variant("v", profiled, onH100), nil, 1},
		"zero counts as not set":   {variant("v", counted(0)), eight, 8},
		"requests":                 {variant("v"), eight, 8},
		"limits alone":             {variant("v"), &corev1.PodSpec{Containers: []corev1.Container{asking(nil, gpus("amd.com/gpu", "4"))}}, 4},
		"requests before limits":   {variant("v"), &corev1.PodSpec{Containers: []corev1.Container{asking(gpus("amd.com/gpu", "4"), gpus("amd.com/gpu", "4"))}}, 4},
		"sum over containers":      {variant("v"), &corev1.PodSpec{Containers: []corev1.Container{asking(gpus("habana.ai/gaudi", "1"), nil), asking(gpus("habana.ai/gaudi", "2"), nil)}}, 3},
		"intel":                    {variant("v"), &corev1.PodSpec{Containers: []corev1.Container{asking(nil, gpus("gpu.intel.com/xe", "2"))}}, 2},
		"no accelerator requested": {variant("v"), &corev1.PodSpec{Containers: []corev1.Container{asking(gpus("cpu", "16"), nil)}}, 1},
		"no template":              {variant("v"), nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := gpusPerReplica(tt.va, gpusRequested(tt.pod), accelerator(tt.va, target{pod: tt.pod})); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	limit := int32(7)
	va := variant("v", targeting("Deployment", "d"), func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.MinReplicas, va.Spec.MaxReplicas, va.Spec.VariantCost, va.Spec.Accelerator = 2, &limit, "3.5", "A100"
		va.Spec.VariantProfile = &v1alpha1.VariantProfile{MaxBatchSize: new(int32(4)), PerfParms: parms("20.58", "0.41", "5.2", "0.1")}
	})
	want := scaling.Variant{
		Key:         scaling.VariantKey{Namespace: "ns", Name: "v"},
		ID:          "m-A100-1",
		Model:       scaling.ModelKey{Namespace: "ns", ID: "m"},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
		Accelerator: "A100", GPUsPerReplica: 1, Cost: 3.5, CostSource: scaling.CostVariant, Bounds: scaling.Bounds{Min: 2, Max: 7},
		Profile:  scaling.Profile{Source: "variantProfile", Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1, MaxBatchSize: 4},
		Replicas: scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 1, Pending: 2, Podless: 2, NewestReady: at(90)},
	}
	got := resolve(va, target{current: 3, pods: []pod{{created: at(0), ready: true, readyAt: at(90)}}}, nil)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}

	t.Run("defaults", func(t *testing.T) {
		got := resolve(variant("own-name"), target{missing: "why"}, nil)
		want := scaling.Variant{
			Key:            scaling.VariantKey{Namespace: "ns", Name: "own-name"},
			ID:             "m-unknown-1",
			Model:          scaling.ModelKey{Namespace: "ns", ID: "m"},
			Target:         scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "own-name"},
			GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Bounds{Max: math.MaxInt}, Missing: "why",
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
}

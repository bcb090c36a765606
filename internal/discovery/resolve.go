package discovery

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// defaultCost is the cost of a replica that no source names, per hour.
const defaultCost = 10

// gpuResources are the extended resources by which pods ask for accelerators.
var gpuResources = []corev1.ResourceName{
	"nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu",
	"gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi",
}

// target is what is known of what a variant scales.
type target struct {
	missing string          // why the rest is unknown, "" when it is known
	current int             // replicas asked for
	pod     *corev1.PodSpec // of one replica, nil when the kind does not tell
	pods    []pod           // that live
	owned   bool            // the pods were found by ownership, not by a selector
}

// resolve turns a VariantAutoscaling and its target into a variant.
func resolve(va *v1alpha1.VariantAutoscaling, t target) scaling.Variant {
	v := scaling.Variant{
		Key:            keyOf(va),
		Model:          modelOf(va),
		Target:         refOf(va),
		Accelerator:    accelerator(va, t.pod),
		GPUsPerReplica: gpusPerReplica(va, t.pod),
		Cost:           cost(va.Spec.VariantCost),
		Bounds:         bounds(va.Spec),
		Missing:        t.missing,
	}
	if t.missing == "" {
		v.Replicas, v.StartUp = count(t.current, t.pods)
	}
	return v
}

// accelerator returns the type of accelerator of a replica, "" when no source
// names one.
func accelerator(va *v1alpha1.VariantAutoscaling, pod *corev1.PodSpec) string {
	if va.Spec.Accelerator != "" {
		return va.Spec.Accelerator
	}
	if name := va.Labels[v1alpha1.LabelAcceleratorName]; name != "" {
		return name
	}
	if p := va.Spec.ModelProfile; p != nil && len(p.Accelerators) > 0 {
		return p.Accelerators[0].Acc
	}
	return productAskedFor(pod)
}

// gpusPerReplica returns the number of accelerators of a replica, at least 1.
func gpusPerReplica(va *v1alpha1.VariantAutoscaling, pod *corev1.PodSpec) int {
	if n := va.Spec.AcceleratorCount; n != nil && *n >= 1 {
		return int(*n)
	}
	if pod == nil {
		return 1
	}
	total := int64(0)
	for _, c := range pod.Containers {
		for _, name := range gpuResources {
			total += requested(c.Resources, name)
		}
	}
	return int(max(1, total))
}

// requested returns how much of a resource a container asks for. Extended
// resources are usually given as a limit alone, which the API server copies to
// the request of a pod and not to that of a pod template.
func requested(r corev1.ResourceRequirements, name corev1.ResourceName) int64 {
	if q, ok := r.Requests[name]; ok {
		return q.Value()
	}
	q := r.Limits[name]
	return q.Value()
}

// cost returns the cost of a replica per hour. What the schema lets through and
// is no finite number counts as not set.
func cost(text string) float64 {
	c, err := strconv.ParseFloat(text, 64)
	if err != nil || c < 0 || math.IsInf(c, 0) || math.IsNaN(c) {
		return defaultCost
	}
	return c
}

func bounds(spec v1alpha1.VariantAutoscalingSpec) scaling.Bounds {
	b := scaling.Unbounded()
	b.Min = max(0, int(spec.MinReplicas))
	if spec.MaxReplicas != nil {
		b.Max = int(*spec.MaxReplicas)
	}
	return b
}

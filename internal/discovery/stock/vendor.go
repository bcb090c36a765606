package stock

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// vendor is a maker of accelerators, with the names of its device plugins and of its feature
// discovery.
type vendor struct {
	// resources are the extended resources by which pods request its accelerators. Each unit counts
	// as one accelerator: slices that a plugin offers under the same name cannot be distinguished
	// from whole ones.
	resources []corev1.ResourceName
	labels    []string // of nodes, that name the product; the first that a node has counts
}

// vendors are the vendors that are known without configuration.
var vendors = []vendor{
	{resources: []corev1.ResourceName{"nvidia.com/gpu"}, labels: []string{"nvidia.com/gpu.product"}},
	{
		resources: []corev1.ResourceName{"amd.com/gpu"},
		labels:    []string{"amd.com/gpu.product", "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"},
	},
	{
		resources: []corev1.ResourceName{"intel.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi"},
		labels:    []string{"intel.com/gpu.product", intelProduct},
	},
}

// cloudLabels are the labels by which cloud providers name the product of any vendor.
var cloudLabels = []string{"cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name"}

// GPUResources are the extended resources by which pods ask for accelerators.
var GPUResources = resourcesOf(vendors)

// productLabels are the node labels that name the GPU of a node: those of the
// vendors' feature discovery, then those of cloud providers.
var productLabels = labelsOf(vendors)

func resourcesOf(of []vendor) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, v := range of {
		out = append(out, v.resources...)
	}
	return out
}

func labelsOf(of []vendor) []string {
	var out []string
	for _, v := range of {
		out = append(out, v.labels...)
	}
	return append(out, cloudLabels...)
}

// withDomains returns the known vendors, and one for each domain: with the resource <domain>/gpu
// and the label <domain>/gpu.product. A domain whose resource is known adds nothing.
func withDomains(domains []string) []vendor {
	out := slices.Clone(vendors)
	for _, domain := range domains {
		resource := corev1.ResourceName(domain + "/gpu")
		if !slices.Contains(resourcesOf(out), resource) {
			out = append(out, vendor{resources: []corev1.ResourceName{resource}, labels: []string{domain + "/gpu.product"}})
		}
	}
	return out
}

// nodeCapacity is the accelerators of one vendor on a node.
type nodeCapacity struct {
	vendor      int                  // index of the vendors
	accelerator string               // canonical type, "" when no label names the product
	total       scaling.Accelerators // >= 1
}

// nodeCapacities returns the allocatable accelerators of a node, by vendor.
func nodeCapacities(n *corev1.Node, of []vendor) []nodeCapacity {
	var out []nodeCapacity
	for i, v := range of {
		total := int64(0)
		for _, name := range v.resources {
			q := n.Status.Allocatable[name]
			total += q.Value()
		}
		if total > 0 {
			out = append(out, nodeCapacity{vendor: i, accelerator: productOf(n, v.labels), total: scaling.Accelerators(total)})
		}
	}
	if len(out) == 1 && out[0].accelerator == "" { // with two vendors it is unknown which one a cloud label means
		out[0].accelerator = productOf(n, cloudLabels)
	}
	return out
}

// productOf returns the accelerator type by the first of the labels that the node has, "" for none.
func productOf(n *corev1.Node, names []string) string {
	for _, label := range names {
		if product := n.Labels[label]; product != "" {
			return acceleratorBy(label, product)
		}
	}
	return ""
}

// portion is how many accelerators of one vendor a pod asks for.
type portion struct {
	vendor int                  // index of the vendors
	gpus   scaling.Accelerators // >= 1
}

// portionsOf returns the accelerators that a pod takes, by vendor; nil for none.
func portionsOf(pod *corev1.PodSpec, of []vendor) []portion {
	var out []portion
	for i, v := range of {
		gpus := int64(0)
		for _, name := range v.resources {
			gpus += asked(pod, name)
		}
		if gpus > 0 {
			out = append(out, portion{vendor: i, gpus: scaling.Accelerators(gpus)})
		}
	}
	return out
}

// asked returns how much of a resource a pod takes from its node, by the rule of Kubernetes
// (KEP-753): containers run together with the init containers that restart always. Each other init
// container runs before them, together with the restarting ones that began before it.
func asked(pod *corev1.PodSpec, name corev1.ResourceName) int64 {
	together, most := int64(0), int64(0)
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		n := Requested(c.Resources, name)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			together += n
			most = max(most, together)
			continue
		}
		most = max(most, together+n)
	}
	for i := range pod.Containers {
		together += Requested(pod.Containers[i].Resources, name)
	}
	return max(most, together)
}

// Requested returns how much of a resource a container requests. Extended resources usually have a
// limit alone, which the API server copies to the request of a pod and not to that of a pod
// template.
func Requested(r corev1.ResourceRequirements, name corev1.ResourceName) int64 {
	if q, ok := r.Requests[name]; ok {
		return q.Value()
	}
	q := r.Limits[name]
	return q.Value()
}

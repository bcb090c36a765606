package discovery

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// productLabels are the node labels that name the GPU of a node: those of the
// vendors' feature discovery, then those of cloud providers.
var productLabels = []string{
	"nvidia.com/gpu.product", "amd.com/gpu.product", "amd.com/gpu.product-name", "intel.com/gpu.product",
	"cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name",
}

// productAskedFor returns the accelerator type that a pod wants its node to
// have: by its node selector, else by a required node affinity that leaves only
// one. It returns "" when the pod leaves it open.
func productAskedFor(pod *corev1.PodSpec) string {
	if pod == nil {
		return ""
	}
	for _, label := range productLabels {
		if product := pod.NodeSelector[label]; product != "" {
			return shortName(product)
		}
	}
	return productByAffinity(pod.Affinity)
}

func productByAffinity(a *corev1.Affinity) string {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	var names []string
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		products := productsOf(term)
		if len(products) == 0 {
			return "" // this term is satisfied by any product
		}
		for _, product := range products {
			names = append(names, shortName(product))
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != 1 {
		return ""
	}
	return names[0]
}

// productsOf returns the GPU products that a term of a node affinity allows, nil
// when it does not say.
func productsOf(term corev1.NodeSelectorTerm) []string {
	for _, e := range term.MatchExpressions {
		if e.Operator == corev1.NodeSelectorOpIn && slices.Contains(productLabels, e.Key) {
			return e.Values
		}
	}
	return nil
}

// shortName returns the accelerator type that a product label stands for, by
// the rule of the published inventory: the part after the vendor, of Intel the
// two parts, so that NVIDIA-A100-PCIE-80GB is A100 and Intel-Gaudi-2-96GB is
// Gaudi-2. Cloud providers write the same names in lower case and with a family
// between: nvidia-tesla-t4 is T4.
func shortName(product string) string {
	parts := strings.Split(product, "-")
	if len(parts) > 1 && strings.EqualFold(parts[0], "intel") {
		return strings.Join(parts[1:min(3, len(parts))], "-")
	}
	for len(parts) > 1 && slices.Contains([]string{"nvidia", "amd", "tesla"}, strings.ToLower(parts[0])) {
		parts = parts[1:]
	}
	if name := parts[0]; name == strings.ToLower(name) {
		return strings.ToUpper(name)
	}
	return parts[0]
}

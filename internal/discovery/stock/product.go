package stock

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// intelProduct is the label of Intel's device plugin. Its values do not name the
// vendor: Max_1550.
const intelProduct = "gpu.intel.com/product"

// families are the words before a product's name that do not distinguish products of a vendor.
var families = []string{"nvidia", "amd", "tesla", "instinct", "radeon", "pro"}

// ProductAskedFor returns the accelerator type that a pod requires of its node: by its node
// selector, else by a required node affinity that allows only one. It returns "" when the pod
// requires none.
func ProductAskedFor(pod *corev1.PodSpec) string {
	if pod == nil {
		return ""
	}
	for _, label := range productLabels {
		if product := pod.NodeSelector[label]; product != "" {
			return acceleratorBy(label, product)
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
		names = append(names, products...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != 1 {
		return ""
	}
	return names[0]
}

// productsOf returns the accelerator types that a term of a node affinity allows, nil for any.
func productsOf(term corev1.NodeSelectorTerm) []string {
	for _, e := range term.MatchExpressions {
		if e.Operator != corev1.NodeSelectorOpIn || !slices.Contains(productLabels, e.Key) {
			continue
		}
		var names []string
		for _, product := range e.Values {
			names = append(names, acceleratorBy(e.Key, product))
		}
		return names
	}
	return nil
}

// acceleratorBy returns the accelerator type for a value of a product label.
func acceleratorBy(label, product string) string {
	if label == intelProduct {
		product = "Intel-" + product
	}
	return shortName(product)
}

// shortName returns the accelerator type for a value of a product label, by the rule of the
// published inventory: the part after the vendor, for Intel the next two parts. So
// NVIDIA-A100-PCIE-80GB is A100, and Intel-Gaudi-2-96GB is Gaudi-2. Other labels use underscores,
// lower case, or a family between: AMD_Instinct_MI300X_OAM is MI300X, nvidia-tesla-t4 is T4.
func shortName(product string) string {
	parts := strings.Split(strings.ReplaceAll(product, "_", "-"), "-")
	if len(parts) > 1 && strings.EqualFold(parts[0], "intel") {
		return strings.Join(parts[1:min(3, len(parts))], "-")
	}
	for len(parts) > 1 && slices.Contains(families, strings.ToLower(parts[0])) {
		parts = parts[1:]
	}
	if name := parts[0]; name == strings.ToLower(name) {
		return strings.ToUpper(name)
	}
	return parts[0]
}

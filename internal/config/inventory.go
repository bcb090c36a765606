package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Inventory says which accelerators of the cluster limited mode counts.
type Inventory struct {
	// NodeSelector is the label selector of the nodes that count, "" for all.
	NodeSelector string
	// Vendors are the domains of vendors beside NVIDIA, AMD and Intel, separated by commas. The
	// resource of a vendor is <domain>/gpu, and <domain>/gpu.product is the node label that names
	// the product.
	Vendors string
}

func (i *Inventory) define(d *definition) {
	d.text(&i.NodeSelector, "node-selector", "", "label selector of the nodes whose accelerators count in limited mode; empty for all")
	d.twin("WVA_NODE_SELECTOR")
	d.text(&i.Vendors, "gpu-vendors", "", "domains of further vendors of accelerators for limited mode, with commas between them: example.com for the resource example.com/gpu and the node label example.com/gpu.product")
}

// Domains returns the domains of Vendors.
func (i Inventory) Domains() []string {
	var out []string
	for domain := range strings.SplitSeq(i.Vendors, ",") {
		if domain = strings.TrimSpace(domain); domain != "" {
			out = append(out, domain)
		}
	}
	return out
}

func (i Inventory) validate() error {
	if _, err := labels.Parse(i.NodeSelector); err != nil {
		return &FieldError{Key: "WVA_NODE_SELECTOR", Value: i.NodeSelector, Want: "a label selector, such as pool=serving"}
	}
	if slices.ContainsFunc(i.Domains(), func(domain string) bool { return len(validation.IsDNS1123Subdomain(domain)) > 0 }) {
		return &FieldError{Key: "GPU_VENDORS", Value: i.Vendors, Want: "domains with commas between them, such as example.com,example.org"}
	}
	return nil
}

package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestQuotasAreThoseOfEachNamespaceAndType(t *testing.T) {
	on := func(namespace, accelerator string) scaling.Variant {
		return scaling.Variant{Key: scaling.VariantKey{Namespace: namespace, Name: "v"}, Accelerator: accelerator}
	}
	owns := func(namespace, accelerator string, gpus int) scaling.Quota {
		return scaling.Quota{Namespace: namespace, Accelerator: accelerator, GPUs: scaling.Accelerators(gpus)}
	}
	tests := map[string]struct {
		content  string
		variants []scaling.Variant
		want     []scaling.Quota
	}{
		"none":                           {"{}", []scaling.Variant{on("a", "A100")}, nil},
		"listed":                         {"namespaceQuotas: {a: {A100: 4}}", []scaling.Variant{on("a", "A100")}, []scaling.Quota{owns("a", "A100", 4)}},
		"listed, with nothing there":     {"namespaceQuotas: {a: {A100: 4}}", nil, []scaling.Quota{owns("a", "A100", 4)}},
		"a type that a list lacks":       {"namespaceQuotas: {a: {A100: 4}}", []scaling.Variant{on("a", "H100")}, []scaling.Quota{owns("a", "A100", 4), owns("a", "H100", 0)}},
		"an unknown type":                {"namespaceQuotas: {a: {A100: 4}}", []scaling.Variant{on("a", "")}, []scaling.Quota{owns("a", "", 0), owns("a", "A100", 4)}},
		"unlimited":                      {"namespaceQuotas: {a: {A100: -1, H100: 2}}", []scaling.Variant{on("a", "A100")}, []scaling.Quota{owns("a", "H100", 2)}},
		"the default, each its own":      {"default: {A100: 2}", []scaling.Variant{on("a", "A100"), on("b", "A100")}, []scaling.Quota{owns("a", "A100", 2), owns("b", "A100", 2)}},
		"a type that the default lacks":  {"default: {A100: 2}", []scaling.Variant{on("a", "H100")}, nil},
		"an unlimited default":           {"default: {A100: -1}", []scaling.Variant{on("a", "A100")}, nil},
		"a list in place of the default": {"namespaceQuotas: {a: {}}\ndefault: {A100: 2}", []scaling.Variant{on("a", "A100"), on("b", "A100")}, []scaling.Quota{owns("a", "A100", 0), owns("b", "A100", 2)}},
		"excluded":                       {"namespaceQuotas: {b: {A100: 4}}\ndefault: {A100: 2}\nexclude: [a]", []scaling.Variant{on("a", "A100"), on("c", "A100")}, []scaling.Quota{owns("b", "A100", 4), owns("c", "A100", 2)}},
		"several variants of a pair":     {"default: {A100: 2}", []scaling.Variant{on("a", "A100"), on("a", "A100")}, []scaling.Quota{owns("a", "A100", 2)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := applied(t, system(quotaMap, "quotas", tt.content))
			if diff := cmp.Diff(s.Quotas(tt.variants), tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			slices.Reverse(tt.variants)
			if diff := cmp.Diff(s.Quotas(tt.variants), tt.want); diff != "" {
				t.Errorf("in the other order, -got +want:\n%s", diff)
			}
		})
	}
}

// Package crd holds the CustomResourceDefinition of VariantAutoscaling for Go
// programs that install it: tests, the local cluster, wva migrate. The YAML is
// generated from the markers in api/v1alpha1 by make generate.
package crd

import _ "embed"

//go:embed bases/llmd.ai_variantautoscalings.yaml
var variantAutoscalings string

// VariantAutoscalings returns the definition as one YAML document.
func VariantAutoscalings() []byte {
	return []byte(variantAutoscalings)
}

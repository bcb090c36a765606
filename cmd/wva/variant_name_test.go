package main

import (
	"errors"
	"testing"
)

func TestExplainTakesNamesOfVariantAutoscalingsOnly(t *testing.T) {
	for arg, want := range map[string]string{
		"llama-8b": "llama-8b", "va/llama-8b": "llama-8b", "VariantAutoscaling/llama-8b": "llama-8b", "variantautoscalings/llama-8b": "llama-8b",
		"deployment/llama-8b": "", "hpa/llama-8b": "", "va/": "", "": "", "/llama-8b": "", "va/quick-start/llama-8b": "",
	} {
		got, err := variantName("explain", arg)
		if got != want || errors.Is(err, errUsage) != (want == "") {
			t.Errorf("%q: got %q, %v; want %q", arg, got, err, want)
		}
	}
}

package discovery

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestCostComesFromTheFirstSourceThatHasOne(t *testing.T) {
	prices := UnitCost(func(_, accelerator string) (float64, bool) {
		cost, ok := map[string]float64{"A100": 40, "G2": 0}[accelerator]
		return cost, ok
	})
	tests := map[string]struct {
		variantCost, accelerator string
		gpus                     scaling.Accelerators
		prices                   UnitCost
		want                     float64
		source                   scaling.CostSource
	}{
		"variant before unit cost":        {"1.95", "A100", 2, prices, 1.95, scaling.CostVariant},
		"variant of cost zero":            {"0", "A100", 2, prices, 0, scaling.CostVariant},
		"10 counts as not set":            {"10", "A100", 2, prices, 80, scaling.CostUnitCost},
		"10.0 counts as not set":          {"10.0", "A100", 1, prices, 40, scaling.CostUnitCost},
		"absent":                          {"", "A100", 8, prices, 320, scaling.CostUnitCost},
		"unit cost of zero":               {"10", "G2", 4, prices, 0, scaling.CostUnitCost},
		"type without a unit cost":        {"10", "H100", 2, prices, 10, scaling.CostDefault},
		"type unknown":                    {"10", "", 2, prices, 10, scaling.CostDefault},
		"no prices":                       {"10.0", "A100", 2, nil, 10, scaling.CostDefault},
		"no number":                       {"abc", "A100", 1, nil, 10, scaling.CostDefault},
		"negative":                        {"-1", "A100", 1, prices, 40, scaling.CostUnitCost},
		"not a number":                    {"NaN", "A100", 1, nil, 10, scaling.CostDefault},
		"infinite":                        {"Inf", "A100", 1, nil, 10, scaling.CostDefault},
		"more digits than a number has":   {"10.00000000000000000000001", "A100", 1, nil, 10, scaling.CostDefault},
		"larger than any number":          {"9" + zeros(400), "A100", 1, nil, 10, scaling.CostDefault},
		"variant, where no type is named": {"3", "", 1, prices, 3, scaling.CostVariant},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, source := tt.prices.ofReplica(tt.variantCost, "n", tt.accelerator, tt.gpus)
			if got != tt.want || source != tt.source {
				t.Errorf("got %g from %q, want %g from %q", got, source, tt.want, tt.source)
			}
		})
	}
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

// TestCostsThatSayNothingAreRecognisable shows what a comparison of two variants
// of one model is to be made of.
func TestCostsThatSayNothingAreRecognisable(t *testing.T) {
	prices := UnitCost(func(_, accelerator string) (float64, bool) { return 40, accelerator == "A100" })
	on := func(accelerator, cost string) scaling.Variant {
		return resolve(variant("v", func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.Accelerator, va.Spec.VariantCost = accelerator, cost
		}), target{}, prices)
	}
	tests := map[string]struct {
		a, b scaling.Variant
		want bool
	}{
		"both their own":         {on("A100", "3"), on("H100", "5"), true},
		"both by type":           {on("A100", "10"), on("A100", "10.0"), true},
		"own against type":       {on("A100", "10"), on("H100", "5"), false},
		"own against default":    {on("H100", "10"), on("H100", "5"), false},
		"default against itself": {on("H100", "10"), on("L4", ""), false},
	}
	for name, tt := range tests {
		if got := tt.a.CostSource.Comparable(tt.b.CostSource); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

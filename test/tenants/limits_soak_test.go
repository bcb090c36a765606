//go:build soak

package tenants

import (
	"maps"
	"slices"
	"testing"
)

// TestANamespaceThatFillsABudgetStaysWithinTheBounds fills each default budget beside 200
// honest variants.
func TestANamespaceThatFillsABudgetStaysWithinTheBounds(t *testing.T) {
	var honest Honest
	for _, name := range slices.Sorted(maps.Keys(fills())) {
		t.Run(name, func(t *testing.T) {
			for _, v := range Judge(t, Case{Honest: manyHonest, Stock: StockUnlimited, Full: name}, &honest, measured) {
				t.Error(v)
			}
		})
	}
}

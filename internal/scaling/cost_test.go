package scaling

import "testing"

func TestCostsCompareWithinOneSourceThatIsNotTheDefault(t *testing.T) {
	sources := []CostSource{CostDefault, CostVariant, CostUnitCost}
	for _, a := range sources {
		for _, b := range sources {
			want := a == CostVariant && b == CostVariant || a == CostUnitCost && b == CostUnitCost
			if got := a.Comparable(b); got != want {
				t.Errorf("%q and %q: got %v, want %v", a, b, got, want)
			}
		}
	}
}

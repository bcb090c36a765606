package optimizer

import (
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestTinyDemandsAreCarriedByAnyReplica: a demand close to zero gives finite numbers only, and one
// replica.
func TestTinyDemandsAreCarriedByAnyReplica(t *testing.T) {
	for _, demand := range []float64{0, math.SmallestNonzeroFloat64, 1e-300, 1e-9} {
		in := votes(demand, scaling.Shrink, fleet{"a", 10, 5, 3, nil, 0}, fleet{"b", 20, 9, 0, nil, 0})
		if got, reason := shown(Cover(in)); got != "a:1 b:0" {
			t.Errorf("a demand of %g: got %s (%s), want one replica of a", demand, got, reason)
		}
	}
}

package memory

import (
	"math"
	"testing"
)

// TestUtilizationMissesAsChangingLoadsDid: half of the requests came at a utilization of
// a half, the others at 1.
func TestUtilizationMissesAsChangingLoadsDid(t *testing.T) {
	missed := func(used float64) float64 { return 0.1 * math.Pow(used, Steepness) }
	e := Evidence{}.add(500, 0.5, missed(0.5)).add(500, 1, missed(1))
	if u := e.Utilization(); !(u > 0.75) || math.Abs(missed(u)-e.Missed/e.Requests) > 1e-12 {
		t.Errorf("at %g all the time %g of the requests would miss; %g missed", u, missed(u), e.Missed/e.Requests)
	}
	if u := (Evidence{}.add(10, 0.7, 0)).Utilization(); math.Abs(u-0.7) > 1e-12 {
		t.Errorf("a constant utilization of 0.7 counts as %g", u)
	}
	if u := (Evidence{}).Utilization(); u != 0 {
		t.Errorf("without requests the utilization is %g", u)
	}
	if u := (Evidence{Requests: 10, Used: 8}).Utilization(); u != 0.8 {
		t.Errorf("a record of before, with a mean of 0.8, counts as %g", u)
	}
}

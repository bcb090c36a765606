package scaling

import (
	"math"
	"testing"
)

func TestNoReadingIsBeyondWhatCanBeMeasured(t *testing.T) {
	for v, want := range map[float64]Reading{
		0: {State: Fresh}, 5e-324: {State: Fresh}, Smallest: {Smallest, Fresh}, Largest: {Largest, Fresh},
		2 * Largest: {}, 1e300: {}, math.Inf(1): {}, -1: {}, -5e-324: {},
	} {
		if got := Measured(v, Fresh); got != want {
			t.Errorf("Measured(%v) is %v, want %v", v, got, want)
		}
	}
	if got := Measured(math.NaN(), Fresh); got != (Reading{}) {
		t.Errorf("Measured(NaN) is %v, want Absent", got)
	}
}

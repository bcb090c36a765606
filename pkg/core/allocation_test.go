package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTransitionCostsNothingWhereNothingChanges(t *testing.T) {
	from := Allocation{Accelerator: "A", Replicas: 2, Cost: 80}
	tests := []struct {
		name string
		to   Allocation
		want float64
	}{
		{"nothing changes, whatever the price", Allocation{Accelerator: "A", Replicas: 2, Cost: 90}, 0},
		{"fewer replicas save", Allocation{Accelerator: "A", Replicas: 1, Cost: 40}, -40},
		{"more replicas cost", Allocation{Accelerator: "A", Replicas: 3, Cost: 120}, 40},
		{"a move costs a tenth of both", Allocation{Accelerator: "B", Replicas: 2, Cost: 80}, 16},
	}
	for _, test := range tests {
		if got := from.TransitionPenalty(test.to); got != test.want {
			t.Errorf("%s: got %g, want %g", test.name, got, test.want)
		}
	}
}

func TestLimitScalesCostAndValueAndKeepsWhatWasWanted(t *testing.T) {
	a := Allocation{Replicas: 4, Wanted: 4, Cost: 40, Value: 20}
	want := Allocation{Replicas: 1, Wanted: 4, Cost: 10, Value: 5}
	if diff := cmp.Diff(want, a.Limit(1)); diff != "" {
		t.Errorf("limited to 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(a, a.Limit(9)); diff != "" {
		t.Errorf("a limit above changes it (-want +got):\n%s", diff)
	}
	if got := a.Limit(-1); got.Replicas != 0 || got.Cost != 0 {
		t.Errorf("limited to -1: got %+v, want none", got)
	}
}

func TestPowerIsLinearOnBothSidesOfTheMiddle(t *testing.T) {
	p := Power{Idle: 50, Mid: 150, Full: 350, MidUtilization: 0.4}
	for utilization, want := range map[float64]float64{-1: 50, 0: 50, 0.2: 100, 0.4: 150, 0.7: 250, 1: 350, 2: 350} {
		if got := p.At(utilization); got != want {
			t.Errorf("at %g: got %g W, want %g", utilization, got, want)
		}
	}
	for middle, want := range map[float64]float64{0: 150, 1: 50} {
		if got := (Power{Idle: 50, Mid: 150, Full: 350, MidUtilization: middle}).At(0); got != want {
			t.Errorf("middle at %g: got %g W without use, want %g", middle, got, want)
		}
	}
}

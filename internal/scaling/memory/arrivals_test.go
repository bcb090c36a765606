package memory

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// look returns a snapshot at a time after noon, over a window of a minute.
func look(after time.Duration, rate scaling.Reading) scaling.Snapshot {
	return scaling.Snapshot{At: noon.Add(after), Window: time.Minute, Load: scaling.Load{ArrivalRate: rate}}
}

// seconds remembers an arrival rate of i at each ith second after noon.
func seconds(at ...int) Arrivals {
	var a Arrivals
	for i, s := range at {
		a = append(a, Arrival{At: noon.Add(time.Duration(s) * time.Second), Over: time.Minute, Rate: float64(i)})
	}
	return a
}

func TestArrivalsApartAreOfSpansOfTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   Arrivals
		step time.Duration
		want []float64 // rates, nil for none
	}{
		{"nothing is remembered", nil, time.Minute, nil},
		{"a minute apart", seconds(0, 60, 120), time.Minute, []float64{2, 1, 0}},
		{"the last of more", seconds(0, 60, 120, 180), time.Minute, []float64{3, 2, 1}},
		{"a clock that is not exact", seconds(0, 59, 121), time.Minute, []float64{2, 1, 0}},
		{"too few", seconds(0, 60), time.Minute, nil},
		{"four in a minute", seconds(0, 15, 30, 45, 60, 75, 90, 105, 120), time.Minute, []float64{8, 4, 0}},
		{"one was woken", seconds(0, 60, 90, 120), time.Minute, []float64{3, 1, 0}},
		{"the last was woken", seconds(0, 60, 90), time.Minute, nil},
		{"the last was woken, and there are enough before", seconds(0, 60, 120, 150), time.Minute, []float64{3, 1, 0}},
		{"the next one a step later", seconds(0, 110, 170), time.Minute, []float64{2, 1, 0}},
		{"a gap", seconds(0, 130, 190), time.Minute, nil},
		{"a step shorter than the span", seconds(0, 15, 30, 60, 90, 120), 15 * time.Second, []float64{5, 3, 0}},
		{"a longer step", seconds(0, 60, 120, 180, 240), 2 * time.Minute, []float64{4, 2, 0}},
	} {
		var got []float64
		for _, one := range tt.of.Apart(3, tt.step) {
			got = append(got, one.Rate)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	other := seconds(0, 60, 120)
	other[1].Over = 5 * time.Minute
	if got := other.Apart(3, time.Minute); got != nil {
		t.Errorf("spans that differ: %v", got)
	}
}

func TestArrivalsAreFewInOrderAndReachFarEnough(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		step := []time.Duration{0, 15 * time.Second, time.Minute, 4 * time.Minute}[r.IntN(4)]
		var a Arrivals
		at := time.Duration(0)
		for range 200 {
			at += time.Duration(1+r.IntN(90)) * time.Second
			before := slices.Clone(a)
			next := a.Then(look(at, scaling.Measured(r.Float64(), scaling.Fresh)), step, 0)
			if !slices.Equal(before, a) {
				t.Fatalf("seed %d: %v was changed to %v", seed, before, a)
			}
			a = next
		}
		// Every second arrival is at least a quarter of a window after the one before.
		if most := 2 + 2*int(arrivalsKept*max(step, time.Minute)/(15*time.Second)); len(a) > most {
			t.Errorf("seed %d: %d are remembered, want %d at most", seed, len(a), most)
		}
		if !slices.IsSortedFunc(a, func(x, y Arrival) int { return x.At.Compare(y.At) }) || !a[len(a)-1].At.Equal(noon.Add(at)) {
			t.Errorf("seed %d: not in order up to the last: %v", seed, a)
		}
	}
}

func TestCyclesAtTheirTimeLeaveEnoughArrivals(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Second, 15 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute} {
		var a Arrivals
		for i := range 100 {
			a = a.Then(look(time.Duration(i)*step, scaling.Measured(1, scaling.Fresh)), step, 0)
		}
		if got := a.Apart(4, step); len(got) != 4 {
			t.Errorf("a cycle every %s: %d rates that are apart of %v, want 4", step, len(got), a)
		}
	}
}

func TestArrivalsOfNoKnownRateAreAGap(t *testing.T) {
	a := seconds(0, 60)
	for name, s := range map[string]scaling.Snapshot{
		"absent": look(2*time.Minute, scaling.Reading{}), "stale": look(2*time.Minute, scaling.Reading{Value: 3, State: scaling.Stale}),
		"no window":           {At: noon.Add(2 * time.Minute), Load: scaling.Load{ArrivalRate: scaling.Measured(1, scaling.Fresh)}},
		"the same look again": look(time.Minute, scaling.Measured(9, scaling.Fresh)), "an older look": look(0, scaling.Measured(9, scaling.Fresh)),
	} {
		if diff := cmp.Diff(a, a.Then(s, time.Minute, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

package memory

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// missing returns a look at requests at a rate, a part of which misses a TTFT of 1000 ms. None
// misses an ITL of 40 ms.
func missing(at time.Time, rate, part float64) scaling.Snapshot {
	buckets := func(of ...scaling.Bucket) scaling.Histogram {
		return scaling.Histogram{State: scaling.Fresh, Total: rate, Buckets: of}
	}
	return scaling.Snapshot{At: at, Window: time.Minute, Load: scaling.Load{
		TTFTBuckets:       buckets(scaling.Bucket{Bound: 1000, Rate: rate * (1 - part)}, scaling.Bucket{Bound: 10_000, Rate: rate}),
		RequestITLBuckets: buckets(scaling.Bucket{Bound: 40, Rate: rate}),
	}}
}

var latencies = scaling.Objective{TTFT: 1000, ITL: 40}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) }

func TestABudgetCountsTheRequestsThatMissTheirObjective(t *testing.T) {
	b := Budget{}.Then(missing(noon, 10, 0.1), latencies)
	if b != (Budget{At: noon}) {
		t.Errorf("the first look: %+v, want nothing counted, since it is not known for how long", b)
	}
	if _, known := b.Attainment(); known || b.Left(latencies) != 0 {
		t.Errorf("an attainment is known of nothing, or %g hours are left of nothing", b.Left(latencies))
	}
	b = b.Then(missing(noon.Add(time.Minute), 10, 0.1), latencies)
	if !near(b.Ended, 600) || !near(b.Missed, 60) || !near(b.Hours, 1.0/60) {
		t.Errorf("a minute of 10 requests/s of which a tenth miss: %+v, want 600, 60 and 1/60 hours", b)
	}
	if got, known := b.Attainment(); !known || !near(got, 0.9) {
		t.Errorf("an attainment of %g, %v, want 0.9", got, known)
	}
}

func TestABudgetForgetsOverItsWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      scaling.Objective
		window time.Duration
	}{
		{"the default", latencies, 8 * time.Hour},
		{"an hour", scaling.Objective{TTFT: 1000, ITL: 40, AttainmentWindow: time.Hour}, time.Hour},
	} {
		b := Budget{At: noon, Ended: 1000, Missed: 1000, Hours: 100}
		for at := noon.Add(time.Minute); !at.After(noon.Add(tt.window)); at = at.Add(time.Minute) {
			b = b.Then(missing(at, 0.01, 0), tt.o)
		}
		// Each of the hours since has a weight between 1/e and 1: (1 - 1/e) of the window in all.
		hours := 100/math.E + tt.window.Hours()*(1-1/math.E)
		if !near(b.Missed, 1000/math.E) || math.Abs(b.Hours/hours-1) > 0.01 {
			t.Errorf("%s: %.3f missed in %.3f hours, want %.3f in %.3f", tt.name, b.Missed, b.Hours, 1000/math.E, hours)
		}
	}
}

func TestALookThatTellsNothingCountsNothing(t *testing.T) {
	counted := Budget{At: noon, Ended: 600, Missed: 60, Hours: 1}
	unknown := missing(noon.Add(time.Minute), 10, 1)
	unknown.Load.TTFTBuckets = scaling.Histogram{}
	moved := func(at time.Time) Budget { b := counted; b.At = at; return b }
	for _, tt := range []struct {
		name string
		s    scaling.Snapshot
		want Budget
	}{
		{"the same look again", missing(noon, 10, 1), counted},
		{"an earlier look", missing(noon.Add(-time.Minute), 10, 1), counted},
		{"no TTFT is known", unknown, moved(noon.Add(time.Minute))},
		{"no request ended", missing(noon.Add(time.Minute), 0, 0), moved(noon.Add(time.Minute))},
		{"more than five windows without a look", missing(noon.Add(5*time.Minute+time.Second), 10, 1), moved(noon.Add(5*time.Minute + time.Second))},
	} {
		if got := counted.Then(tt.s, latencies); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got := counted.Then(missing(noon.Add(5*time.Minute), 10, 1), latencies); got.Ended < 3000 {
		t.Errorf("five windows after the last look: %+v, want 3000 more requests", got)
	}
	after := counted.Then(unknown, latencies).Then(missing(noon.Add(2*time.Minute), 10, 1), latencies)
	if want := 600*math.Exp(-1.0/60/8) + 600; !near(after.Ended, want) {
		t.Errorf("a minute after a look that told nothing: %g requests, want %g: those of that minute", after.Ended, want)
	}
}

func TestABudgetIsUsedUpWhereExactlyTheRestOfTheShareMissed(t *testing.T) {
	ninety := scaling.Objective{TTFT: 1000, Attainment: 0.9}
	for _, tt := range []struct {
		name   string
		o      scaling.Objective
		missed float64 // of 1000 in 3 hours
		want   float64 // hours
	}{
		{"none missed", latencies, 0, 3},
		{"half of what may", latencies, 25, 1.5},
		{"as many as may", latencies, 50, 0},
		{"twice as many as may", latencies, 100, -3},
		{"all", latencies, 1000, -57},
		{"as many as may of 90 %", ninety, 100, 0},
		{"half of what may of 90 %", ninety, 50, 1.5},
		{"a share that no requests can attain is the default", scaling.Objective{TTFT: 1000, Attainment: 1}, 50, 0},
	} {
		if got := (Budget{Ended: 1000, Missed: tt.missed, Hours: 3}).Left(tt.o); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g hours are left, want %g", tt.name, got, tt.want)
		}
	}
}

// TestRequestsWithoutATTFTAreCountedAsTheyArrive: the objective has an ITL only, so no TTFT is
// queried.
func TestRequestsWithoutATTFTAreCountedAsTheyArrive(t *testing.T) {
	s := missing(noon.Add(time.Minute), 10, 0)
	s.Load.TTFTBuckets, s.Load.ArrivalRate = scaling.Histogram{State: scaling.NotApplicable}, scaling.Measured(7, scaling.Fresh)
	if b := (Budget{At: noon}).Then(s, scaling.Objective{ITL: 40}); !near(b.Ended, 420) {
		t.Errorf("%g requests ended in a minute, want the 420 that arrived", b.Ended)
	}
}

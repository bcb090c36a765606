package scaling

import (
	"math"
	"testing"
	"time"
)

// missing returns a look at requests at a rate, a part of which misses a TTFT of 1000 ms. None
// misses an ITL of 40 ms.
func missing(at time.Time, rate, part float64) Snapshot {
	return Snapshot{At: at, Window: time.Minute, Load: Load{
		TTFTBuckets: histogram(rate, 1000, rate*(1-part), 10_000, rate), RequestITLBuckets: histogram(rate, 40, rate),
	}}
}

var latencies = Objective{TTFT: 1000, ITL: 40}

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
		o      Objective
		window time.Duration
	}{
		{"the default", latencies, 8 * time.Hour},
		{"an hour", Objective{TTFT: 1000, ITL: 40, AttainmentWindow: time.Hour}, time.Hour},
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
	unknown.Load.TTFTBuckets = Histogram{}
	moved := func(at time.Time) Budget { b := counted; b.At = at; return b }
	for _, tt := range []struct {
		name string
		s    Snapshot
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
	ninety := Objective{TTFT: 1000, Attainment: 0.9}
	for _, tt := range []struct {
		name   string
		o      Objective
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
		{"a share that no requests can attain is the default", Objective{TTFT: 1000, Attainment: 1}, 50, 0},
	} {
		if got := (Budget{Ended: 1000, Missed: tt.missed, Hours: 3}).Left(tt.o); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g hours are left, want %g", tt.name, got, tt.want)
		}
	}
}

func TestARequestMissesEitherObjective(t *testing.T) {
	late := func(bound, part float64) Histogram { return histogram(10, bound, 10*(1-part), 100*bound, 10) }
	for _, tt := range []struct {
		name  string
		o     Objective
		l     Load
		want  float64
		known bool
	}{
		{"both", latencies, Load{TTFTBuckets: late(1000, 0.2), RequestITLBuckets: late(40, 0.1)}, 0.28, true},
		{"a TTFT alone", Objective{TTFT: 1000}, Load{TTFTBuckets: late(1000, 0.2), RequestITLBuckets: late(40, 0.1)}, 0.2, true},
		{"an ITL alone", Objective{ITL: 40}, Load{RequestITLBuckets: late(40, 0.1)}, 0.1, true},
		{"requests tell more of an ITL than tokens", Objective{ITL: 40}, Load{RequestITLBuckets: late(40, 0.1), ITLBuckets: late(40, 0.4)}, 0.1, true},
		{"an ITL of tokens, of which twice as many requests miss it", Objective{ITL: 40}, Load{ITLBuckets: late(40, 0.1)}, 0.2, true},
		{"an ITL of tokens that most miss", Objective{ITL: 40}, Load{ITLBuckets: late(40, 0.7)}, 1, true},
		{"both, with an ITL of tokens", latencies, Load{TTFTBuckets: late(1000, 0.5), ITLBuckets: late(40, 0.1)}, 0.6, true},
		{"no ITL is known", latencies, Load{TTFTBuckets: late(1000, 0.2)}, 0, false},
		{"no TTFT is known", latencies, Load{RequestITLBuckets: late(40, 0.1)}, 0, false},
	} {
		if got, known := (Snapshot{Load: tt.l}).Missed(tt.o); known != tt.known || !near(got, tt.want) {
			t.Errorf("%s: %g, %v, want %g, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
}

// TestVariantsMissAnITLByTheirOwnProfiles: seven replicas of a slow variant and one of a fast
// variant serve; all ITLs are in the first bucket.
func TestVariantsMissAnITLByTheirOwnProfiles(t *testing.T) {
	key := func(name string) VariantKey { return VariantKey{Name: name} }
	fleet := func(batch float64, fast Profile) Snapshot {
		s := Snapshot{Variants: []Variant{
			{Key: key("slow"), Profile: Profile{Source: "measured", Alpha: 6.6, Beta: 0.01, Gamma: 10, Delta: 0.01}, Replicas: ReplicaCounts{Observed: true, Ready: 7}},
			{Key: key("fast"), Profile: fast, Replicas: ReplicaCounts{Observed: true, Ready: 1}},
			{Key: key("none is Ready")},
		}, Load: Load{ITL: Measured(6.3, Fresh), RequestITLBuckets: histogram(10, 10, 10, 25, 10)}}
		for range 7 {
			s.Replicas = append(s.Replicas, ReplicaSample{Variant: key("slow"), Running: Measured(1, Fresh)})
		}
		s.Replicas = append(s.Replicas, ReplicaSample{Variant: key("fast"), Running: Measured(batch, Fresh)})
		return s
	}
	fast := Profile{Source: "measured", Alpha: 3.5, Beta: 0.05, Gamma: 10, Delta: 0.01}
	missed := func(s Snapshot) float64 {
		part, known := s.Missed(Objective{ITL: 9})
		if !known {
			t.Fatal("unknown how many missed")
		}
		return part
	}
	few := missed(fleet(1, fast))
	if few > 0.002 {
		t.Errorf("%.4f missed 9 ms, want next to none: every slow replica takes 6.6", few)
	}
	if got := missed(fleet(1, Profile{})); got < 0.1 {
		t.Errorf("%.4f missed without the profile of the fast variant, want 0.1 or more: nothing says that ITLs are alike", got)
	}
	if got := missed(fleet(100, fast)); got < 2*few {
		t.Errorf("%.4f missed with a full batch on the fast replica, %.4f with one request, want more", got, few)
	}
}

// TestRequestsWithoutATTFTAreCountedAsTheyArrive: the objective has an ITL only, so no TTFT is
// queried.
func TestRequestsWithoutATTFTAreCountedAsTheyArrive(t *testing.T) {
	s := missing(noon.Add(time.Minute), 10, 0)
	s.Load.TTFTBuckets, s.Load.ArrivalRate = Histogram{State: NotApplicable}, Measured(7, Fresh)
	if b := (Budget{At: noon}).Then(s, Objective{ITL: 40}); !near(b.Ended, 420) {
		t.Errorf("%g requests ended in a minute, want the 420 that arrived", b.Ended)
	}
}

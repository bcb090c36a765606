package scaling

import (
	"math"
	"testing"
)

func TestARequestMissesEitherObjective(t *testing.T) {
	latencies := Objective{TTFT: 1000, ITL: 40}
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
		if got, known := (Snapshot{Load: tt.l}).Missed(tt.o); known != tt.known || math.Abs(got-tt.want) > 1e-9 {
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

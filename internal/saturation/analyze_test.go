package saturation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// analyses are the three analyses of saturation.
var analyses = map[string]func(scaling.Snapshot) scaling.Analysis{
	"published": func(s scaling.Snapshot) scaling.Analysis { return Published(s, Default()) },
	"measured":  func(s scaling.Snapshot) scaling.Analysis { return Analyze(s, Default(), time.Minute) },
	"tokens": func(s scaling.Snapshot) scaling.Analysis {
		return Tokens(s, DefaultTokens(), nil, time.Minute).Analysis
	},
}

// TestADoubtfulReplicaCountsAsFull: a replica without fresh readings does not prevent a reduction
// where the others can carry the load even so.
func TestADoubtfulReplicaCountsAsFull(t *testing.T) {
	doubts := map[string]func(*scaling.ReplicaSample){
		"silent": func(s *scaling.ReplicaSample) {
			*s = scaling.ReplicaSample{Pod: s.Pod, Variant: s.Variant, Ready: true}
		},
		"aging": func(s *scaling.ReplicaSample) {
			s.KVCacheUsage.State, s.KVCacheUsageNow.State = scaling.Aging, scaling.Aging
		},
		"stale": func(s *scaling.ReplicaSample) { s.QueueLength.State = scaling.Stale },
	}
	for name, analyze := range analyses {
		for doubt, change := range doubts {
			fleet := func(usage float64, doubtful int, replicas scaling.Replicas) scaling.Analysis {
				s := tokenSnapshot(usage, 0, replicas)
				for i := range doubtful {
					change(&s.Replicas[i])
				}
				return analyze(s)
			}
			one := fleet(0.02, 1, 50)
			if one.Signal != scaling.Shrink || !strings.Contains(one.Detail, "v0, without fresh readings, count as full") {
				t.Errorf("%s, one of 50 %s: %s: %s", name, doubt, one.Signal, one.Detail)
			}
			if full := one.Supply / 50; one.Demand < full {
				t.Errorf("%s, one of 50 %s: shrinks to a demand of %g, that one carries %g", name, doubt, one.Demand, full)
			}
			if a := fleet(0.02, 50, 50); a.Signal == scaling.Shrink {
				t.Errorf("%s, all %s: shrinks: %s", name, doubt, a.Detail)
			}
			// 0.35 of three replicas fits two replicas, but not two of which one is full.
			if without, with := fleet(0.35, 0, 3), fleet(0.35, 1, 3); without.Signal != scaling.Shrink || with.Signal == scaling.Shrink && with.Demand < with.Supply*2/3 {
				t.Errorf("%s, one of three %s: %s with a demand of %g of %g, %s without doubt", name, doubt, with.Signal, with.Demand, with.Supply, without.Signal)
			}
		}
	}
}

// overloaded returns a fleet of full replicas that gets times as many requests as it completes.
// Each replica computes 50 requests that take 10 s: 5 requests/s.
func overloaded(times float64, replicas scaling.Replicas) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	s := tokenSnapshot(0.8, 20, replicas)
	s.Load.ITL, s.Load.ArrivalRate = fresh(50), fresh(times*5*float64(replicas))
	for i := range s.Replicas {
		s.Replicas[i].Running = fresh(50)
	}
	return s
}

func TestSpareCapacityMeasuresHowManyReplicasAreMissing(t *testing.T) {
	const full = 0.8 / 0.7 // over the usage at which growth begins
	for _, tc := range []struct {
		name        string
		snap        scaling.Snapshot
		change      func(*scaling.Snapshot)
		least, most float64
	}{
		{"what completes is a sixtieth of what arrives", overloaded(60, 2), nil, 2 * 60 * full, 2*60*full + 1},
		{"as much arrives as completes", overloaded(1, 10), nil, 10 * full, 10*full + 1},
		{"and twenty minutes of it wait at the gateway", overloaded(1, 10), func(s *scaling.Snapshot) {
			s.Load.GatewayQueue = scaling.Measured(50*1200, scaling.Fresh)
		}, 30, 31}, // full x 10 that arrive and 20 to clear within ten minutes
		{"it is not known how long requests take", overloaded(60, 2), func(s *scaling.Snapshot) { s.Load.ITL = scaling.Reading{} }, 2 * full, 2 * full},
		{"a queue of any length is a full replica", tokenSnapshot(0.1, 5000, 4), nil, 4 * full, 4 * full},
		{"no queue: as many as the caches fill", tokenSnapshot(0.9, 0, 7), nil, 9, 9},
		{"the least is one more", tokenSnapshot(0.71, 0, 7), nil, 7.1, 7.1},
	} {
		if tc.change != nil {
			tc.change(&tc.snap)
		}
		a := Analyze(tc.snap, Default(), time.Minute)
		asked := a.Demand
		for _, c := range a.Ceilings {
			asked = max(asked, c.Demand/c.Variants[0].PerReplica)
		}
		if a.Signal != scaling.Grow || asked < tc.least-1e-9 || asked > tc.most+1e-9 || !a.FromReplicas {
			t.Errorf("%s: %s to %g replicas, want %g to %g (%s)", tc.name, a.Signal, asked, tc.least, tc.most, a.Detail)
		}
	}
}

// TestAPeakThatIsOverOrdersNothing: the window still includes the cleared queue; the last scrape
// does not.
func TestAPeakThatIsOverOrdersNothing(t *testing.T) {
	for _, tc := range []struct {
		name    string
		kv      float64 // of the first replica, at the last scrape
		gateway float64 // requests that wait
		want    scaling.Signal
	}{
		{"all are below 80 % of 0.7", 0.55, 0, scaling.Steady},
		{"one is not", 0.57, 0, scaling.Grow},
		{"requests wait at the gateway", 0.55, 1, scaling.Grow},
	} {
		snap := tokenSnapshot(0.95, 20, 3)
		snap.Load.GatewayQueue = scaling.Measured(tc.gateway, scaling.Fresh)
		for i := range snap.Replicas {
			snap.Replicas[i].KVCacheUsageNow, snap.Replicas[i].QueueLengthNow = scaling.Measured(0.1, scaling.Fresh), scaling.Measured(0, scaling.Fresh)
		}
		snap.Replicas[0].KVCacheUsageNow = scaling.Measured(tc.kv, scaling.Fresh)
		if a := Analyze(snap, Default(), time.Minute); a.Signal != tc.want {
			t.Errorf("%s: %s, want %s (%s)", tc.name, a.Signal, tc.want, a.Detail)
		}
	}
}

// TestReplicasThatDrownBesideIdleOnesAreAReasonToGrow: the slow variant has a constant queue, the
// fast one idles, and each replica gets as many requests.
func TestReplicasThatDrownBesideIdleOnesAreAReasonToGrow(t *testing.T) {
	fleet := func(change func(*scaling.Snapshot)) scaling.Analysis {
		s := tokenSnapshot(0.1, 0, 2)
		slow := tokenSnapshot(0.8, 40, 2)
		slow.Variants[0].Key = variantKey("w")
		for i := range slow.Replicas {
			slow.Replicas[i].Variant, slow.Replicas[i].Pod = variantKey("w"), fmt.Sprint("w", i)
		}
		s.Variants, s.Replicas = append(s.Variants, slow.Variants...), append(s.Replicas, slow.Replicas...)
		if change != nil {
			change(&s)
		}
		return Analyze(s, Default(), time.Minute)
	}
	a := fleet(nil)
	if a.Signal != scaling.Grow || a.Demand > a.Supply || len(a.Ceilings) != 1 {
		t.Fatalf("%s to %g of %g, %d ceilings: %s", a.Signal, a.Demand, a.Supply, len(a.Ceilings), a.Detail)
	}
	if diff := cmp.Diff([]scaling.Limit{{Variant: variantKey("v")}, {Variant: variantKey("w"), PerReplica: 1}}, a.Ceilings[0].Variants); diff != "" || a.Ceilings[0].Demand != 3 {
		t.Errorf("%g are needed (-want +got):\n%s", a.Ceilings[0].Demand, diff)
	}
	if a := fleet(func(s *scaling.Snapshot) { s.Variants[1].Bounds.Max = 2 }); a.Signal != scaling.Grow || a.Demand <= a.Supply || !strings.Contains(a.Detail, "shared out as it is now") {
		t.Errorf("the slow one has no room: %s to %g of %g: %s", a.Signal, a.Demand, a.Supply, a.Detail)
	}
	if a := fleet(func(s *scaling.Snapshot) {
		s.Variants[1].Bounds.Max = 2
		for i := range 2 {
			s.Replicas[i].KVCacheUsage, s.Replicas[i].KVCacheUsageNow = scaling.Measured(0.03, scaling.Fresh), scaling.Measured(0.03, scaling.Fresh)
		}
	}); a.Signal != scaling.Steady || a.Demand > a.Supply {
		t.Errorf("the slow one has no room, and the others idle: %s to %g of %g: %s", a.Signal, a.Demand, a.Supply, a.Detail)
	}
	for name, change := range map[string]func(*scaling.Snapshot){
		"the queue is gone":             func(s *scaling.Snapshot) { s.Replicas[2].QueueLengthNow = scaling.Measured(0, scaling.Fresh) },
		"one of the variant has no one": func(s *scaling.Snapshot) { s.Replicas[3].QueueLength = scaling.Measured(0, scaling.Fresh) },
	} {
		if a := fleet(change); a.Signal == scaling.Grow {
			t.Errorf("%s: grows: %s", name, a.Detail)
		}
	}
	// Without a queue the fleet keeps what its fullest variant needs.
	if a := fleet(func(s *scaling.Snapshot) {
		for i := range s.Replicas {
			s.Replicas[i].QueueLength, s.Replicas[i].QueueLengthNow = scaling.Measured(0, scaling.Fresh), scaling.Measured(0, scaling.Fresh)
		}
		for i := 2; i < 4; i++ {
			s.Replicas[i].KVCacheUsage = scaling.Measured(0.65, scaling.Fresh)
		}
	}); a.Signal == scaling.Shrink && a.Demand < 0.999*a.Supply*0.65/0.7 {
		t.Errorf("shrinks to %g of %g although one variant is full to 0.65/0.7", a.Demand, a.Supply)
	}
}

// TestAVariantThatWasNeverSeenIsNoReasonToMove: it may grow as the cheapest one, but its capacity
// is unknown, so the model does not move to it.
func TestAVariantThatWasNeverSeenIsNoReasonToMove(t *testing.T) {
	carries := func(usage float64) float64 {
		s := tokenSnapshot(usage, 0, 4)
		s.Variants = append(s.Variants, scaling.Variant{Key: variantKey("w"), Replicas: scaling.ReplicaCounts{Observed: true}})
		return Analyze(s, Default(), time.Minute).Variants[1].PerReplica
	}
	if got := carries(0.9); got != 1 {
		t.Errorf("growing: carries %g, want 1", got)
	}
	for _, usage := range []float64{0.1, 0.55} {
		if got := carries(usage); got != 0 {
			t.Errorf("KV cache usage %g: carries %g, want 0", usage, got)
		}
	}
}

// TestSumsDoNotDependOnTheOrder: floating-point sums would.
func TestSumsDoNotDependOnTheOrder(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 99))
		var s scaling.Snapshot
		for v := range 4 {
			one := tokenSnapshot(r.Float64(), 3*r.Float64(), scaling.Replicas(1+r.IntN(4)))
			one.Variants[0].Key = variantKey(fmt.Sprint("v", v))
			for i := range one.Replicas {
				one.Replicas[i].Variant = one.Variants[0].Key
				one.Replicas[i].KVCapacity = scaling.Measured(1e4*(1+float64(v))+100*r.Float64(), scaling.Fresh)
				one.Replicas[i].KVCacheUsage = scaling.Measured(r.Float64(), scaling.Fresh)
			}
			one.Variants, one.Replicas = append(s.Variants, one.Variants...), append(s.Replicas, one.Replicas...)
			s = one
		}
		other := s
		other.Variants, other.Replicas = slices.Clone(s.Variants), slices.Clone(s.Replicas)
		slices.Reverse(other.Variants)
		slices.Reverse(other.Replicas)
		for name, analyze := range analyses {
			if diff := cmp.Diff(analyze(s), analyze(other)); diff != "" {
				t.Fatalf("seed %d, %s (-one +other order):\n%s", seed, name, diff)
			}
		}
	}
}

package queueing

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// erlangWait returns the exact mean wait of an M/M/n queue with service rate 1 and utilization u.
func erlangWait(n int, u float64) float64 {
	blocking := 1.0 // Erlang B
	for i := 1; i <= n; i++ {
		blocking = float64(n) * u * blocking / (float64(i) + float64(n)*u*blocking)
	}
	queued := blocking / (1 - u*(1-blocking)) // Erlang C
	return queued / (float64(n) * (1 - u))
}

func TestTheWaitOfSharedQueuesIsThatOfErlang(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 30, 100} {
		for _, u := range []float64{0.5, 0.7, 0.8, 0.9, 0.95} {
			want, got := erlangWait(n, u), sharedWait(u, float64(n))
			// The error is relative to the wait of a single replica, which decides how much is
			// gained.
			if math.Abs(got-want) > 0.04*erlangWait(1, u) {
				t.Errorf("%d servers at %g: got %.4g, want %.4g", n, u, got, want)
			}
		}
	}
}

// prefillers returns the sizing of a variant of n prefill replicas, each completing most requests/s
// with full batches.
func prefillers(n scaling.Replicas, most float64) sizing {
	v := variant("v", a100, n)
	v.Role = scaling.RolePrefill
	return sizing{variant: v, usable: true, most: most}
}

func TestPooledAndAloneAreEachOthersReverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n, most := 1+r.IntN(200), math.Exp(6*r.Float64()-3)
		s := prefillers(scaling.Replicas(n), most)
		alone := (0.02 + 0.9*r.Float64()) * most
		pooled := s.pooled(alone, float64(n))
		more := s.pooled(alone, float64(n+1))
		switch back := s.alone(pooled); {
		case pooled < alone || pooled > fullest*most*(1+1e-9) || more < pooled*(1-1e-9):
			t.Fatalf("%d replicas of %g: %g alone, %g pooled, %g with one more", n, most, alone, pooled, more)
		case n == 1 && math.Abs(pooled-alone) > 1e-6*most:
			t.Fatalf("one replica: %g pooled, want %g", pooled, alone)
		case pooled < 0.9499*most && math.Abs(back-alone) > 1e-3*most, back > alone+1e-3*most:
			t.Fatalf("%d replicas of %g: %g pooled is %g alone, want %g", n, most, pooled, back, alone)
		}
	}
}

// TestPrefillIsSizedForTheReplicasThatTheLoadNeeds: what a replica serves depends on how many
// replicas the load needs, not on how many there are.
func TestPrefillIsSizedForTheReplicasThatTheLoadNeeds(t *testing.T) {
	size := func(role scaling.Role, rate float64, replicas scaling.Replicas) float64 {
		v := variant("v", a100, replicas)
		v.Role = role
		snap := snapshot(rate, v)
		snap.Role = role
		if role == scaling.RolePrefill {
			snap.Load.OutputTokens = scaling.Measured(1, scaling.Fresh)
		}
		a := Analyze(snap, scaling.Objective{Class: "c", Priority: 1, TTFT: 60}, Default(), Memory{})
		if a.Signal == scaling.Unknown || len(a.Variants) != 1 {
			t.Fatalf("got %+v", a)
		}
		return a.Variants[0].PerReplica
	}
	little, much, fewer := size(scaling.RolePrefill, 1, 20), size(scaling.RolePrefill, 2000, 20), size(scaling.RolePrefill, 2000, 3)
	if much < 1.05*little || much != fewer {
		t.Errorf("a replica of prefill serves %.4g of 1 request/s, and %.4g and %.4g of 2000", little, much, fewer)
	}
	if one, other := size("", 1, 20), size("", 2000, 20); one != other {
		t.Errorf("a replica of the whole model serves %.4g of 1 request/s, and %.4g of 2000", one, other)
	}
}

package queueing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// attained returns the budget after a thousand requests in a number of hours, of which part met the
// objectives.
func attained(part, hours float64) memory.Budget {
	return memory.Budget{At: at, Ended: 1000, Missed: 1000 * (1 - part), Hours: hours}
}

func TestTheAllowanceFollowsTheErrorBudget(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    memory.Budget
		o    scaling.Objective
		want float64
		says string
	}{
		{"nothing is known", memory.Budget{}, objective, 1, ""},
		{"no request ended", memory.Budget{At: at, Hours: 3}, objective, 1, ""},
		{
			"as many met the objectives as are to", attained(0.95, 5), objective, 1,
			"95.0 % of the requests met the objectives lately, 95 % are to, so a replica is given 1.00 times",
		},
		{"half of the budget of two hours is left", attained(0.975, 2), objective, math.Exp(0.15), "1.16 times"},
		{"a quarter of an hour is overdrawn", attained(0.9, 0.25), objective, math.Exp(-0.25), "0.78 times"},
		{"all meet the objectives for a day", attained(1, 24), objective, 1.5, "1.50 times"},
		{"none meets the objectives", attained(0, 8), objective, 0.7, "0.70 times"},
		{"of 90 %, half of the budget of two hours is left", attained(0.95, 2), scaling.Objective{TTFT: 1000, Attainment: 0.9}, math.Exp(0.15), "90 % are to"},
	} {
		got, why := allowance(tt.b, tt.o)
		if math.Abs(got-tt.want) > 1e-9 || !strings.Contains(why, tt.says) || (tt.says == "") != (why == "") {
			t.Errorf("%s: %g, %q, want %g, %q", tt.name, got, why, tt.want, tt.says)
		}
	}
}

func TestTheAllowanceGrowsWithTheAttainmentWithinItsBounds(t *testing.T) {
	for _, hours := range []float64{0.01, 0.5, 2, 8, 1000} {
		last := 0.0
		for part := 0.0; part <= 1; part += 0.005 {
			got, _ := allowance(attained(part, hours), objective)
			if got < 0.7 || got > 1.5 || got < last {
				t.Fatalf("%g of the requests in %g hours: %g after %g for fewer, want no less, within 0.7 and 1.5", part, hours, got, last)
			}
			last = got
			want := 1.0
			if got > 1.15 {
				want = (got / 1.15) * (got / 1.15)
			}
			if surplus := Surplus(attained(part, hours), objective); math.Abs(surplus-want) > 1e-9 {
				t.Fatalf("with an allowance of %g the surplus is %g, want %g", got, surplus, want)
			}
		}
	}
}

func TestAReplicaIsAllowedNoMoreThanFullBatchesComplete(t *testing.T) {
	for _, tt := range []struct {
		name   string
		s      sizing
		factor float64
		want   float64
	}{
		{"more", sizing{rate: 4, most: 10, usable: true}, 1.5, 6},
		{"more, up to 0.95 of full batches", sizing{rate: 8, most: 10, usable: true}, 1.5, 9.5},
		{"no more where it is at 0.95 already", sizing{rate: 9.5, most: 10, usable: true}, 1.5, 9.5},
		{"less", sizing{rate: 4, most: 10, usable: true}, 0.8, 3.2},
		{"as promised", sizing{rate: 4, most: 10, usable: true}, 1, 4},
		{"out of reach of the objectives", sizing{rate: 4, most: 10, usable: true, infeasible: &scaling.Infeasible{}}, 1.5, 4},
		{"out of reach of the objectives, and less", sizing{rate: 4, most: 10, usable: true, infeasible: &scaling.Infeasible{}}, 0.8, 4},
		{"without a profile", sizing{rate: 4, most: 4}, 1.5, 4},
		{"without a profile, and less", sizing{rate: 4, most: 4}, 0.8, 4},
		{"serves nothing", sizing{most: 10, usable: true}, 1.5, 0},
	} {
		sized := []sizing{tt.s}
		if allow(sized, tt.factor); math.Abs(sized[0].rate-tt.want) > 1e-9 {
			t.Errorf("%s: %g requests/s, want %g", tt.name, sized[0].rate, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 3))
	for range 1000 {
		s := sizing{most: 1 + 20*r.Float64(), usable: true}
		s.rate = 0.95 * s.most * (0.01 + 0.99*r.Float64())
		sized, factor := []sizing{s}, 0.8+0.7*r.Float64()
		allow(sized, factor)
		if got := sized[0].rate; got > 0.95*s.most+1e-9 || factor >= 1 && got < s.rate || got > s.rate*max(1, factor)+1e-9 {
			t.Fatalf("%g times %g requests/s of at most %g: %g", factor, s.rate, s.most, got)
		}
	}
}

// TestAFleetOfWhichMoreAttainTheObjectivesIsSmaller: an objective of 30 ms keeps replicas below
// full batches, so there is room to fill them.
func TestAFleetOfWhichMoreAttainTheObjectivesIsSmaller(t *testing.T) {
	o := scaling.Objective{TTFT: 1000, ITL: 30}
	look := func(b memory.Budget) scaling.Analysis {
		return Analyze(snapshot(20, variant("v", a100, 5)), o, Default(), Memory{Traffic: memory.Traffic{Budget: b}})
	}
	stated := look(memory.Budget{}).Variants[0].PerReplica
	for _, tt := range []struct {
		part, want float64
	}{{1, 1.5}, {0.95, 1}, {0.5, 0.7}} {
		a := look(attained(tt.part, 8))
		if got := a.Variants[0].PerReplica / stated; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%g of the requests met the objectives: a replica is given %g times what its profile promises, want %g", tt.part, got, tt.want)
		}
		if says := fmt.Sprintf("a replica is given %.2f times", tt.want); !strings.Contains(a.Detail, says) {
			t.Errorf("%q does not say %q", a.Detail, says)
		}
	}
}

package optimizer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// contender returns a model with a namespace, rank and demand. Its variants are named after their
// accelerators.
func contender(namespace string, rank int, demand float64, fleets ...fleet) Contender {
	in := votes(demand, scaling.Grow, fleets...)
	move := func(k *scaling.VariantKey) { k.Namespace = namespace }
	in.Snapshot.Model.Namespace, in.Analyses[0].Model.Namespace = namespace, namespace
	history := memory.History{}
	for i := range in.Snapshot.Variants {
		v := &in.Snapshot.Variants[i]
		past := in.History[v.Key]
		move(&v.Key)
		v.Model, v.Accelerator = in.Snapshot.Model, strings.ToUpper(v.Key.Name)
		move(&in.Analyses[0].Variants[i].Variant)
		history[v.Key] = past
	}
	for i := range in.Snapshot.Replicas {
		move(&in.Snapshot.Replicas[i].Variant)
	}
	in.History = history
	return Contender{Votes: in, Decisions: Cover(in), Rank: rank}
}

func TestShareUsesOtherVariantsWhereTheCheapestAreShort(t *testing.T) {
	l40s := func(n scaling.Replicas) fleet { return fleet{"l40s", 10, 5, n, nil, 0} }
	h100 := func(n scaling.Replicas) fleet { return fleet{"h100", 40, 12, n, nil, 0} }
	for _, tc := range []struct {
		name       string
		stock      map[string]scaling.Accelerators
		contenders []Contender
		want       []string
	}{
		{"enough", map[string]scaling.Accelerators{"L40S": 8, "H100": 8}, []Contender{contender("a", 1, 40, l40s(1), h100(0))}, []string{"l40s:8 h100:0"}},
		{"another variant takes the rest", map[string]scaling.Accelerators{"L40S": 4, "H100": 8}, []Contender{contender("a", 1, 40, l40s(1), h100(0))}, []string{"l40s:4 h100:2"}},
		// Each needs 8. The model without another variant gets the cheap ones, although its rank is
		// not the first.
		{
			"who has no other variant comes first",
			map[string]scaling.Accelerators{"L40S": 9, "H100": 8},
			[]Contender{contender("a", 1, 40, l40s(1), h100(0)), contender("b", 1, 40, l40s(1))},
			[]string{"l40s:1 h100:3", "l40s:8"},
		},
		{
			"the rank decides",
			map[string]scaling.Accelerators{"L40S": 9, "H100": 0},
			[]Contender{contender("a", 9, 40, l40s(1)), contender("b", 1, 40, l40s(1))},
			[]string{"l40s:1", "l40s:8"},
		},
		{
			"no model gives up what it has",
			map[string]scaling.Accelerators{"L40S": 9, "H100": 0},
			[]Contender{contender("a", 9, 40, l40s(6)), contender("b", 1, 40, l40s(1))},
			[]string{"l40s:6", "l40s:8"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given, _ := Share(tc.contenders, tc.stock)
			for i, decisions := range given {
				targets := map[string]scaling.Replicas{}
				for _, d := range decisions {
					targets[d.Variant.Name] = d.Target()
				}
				want := map[string]scaling.Replicas{}
				for field := range strings.FieldsSeq(tc.want[i]) {
					name, n, _ := strings.Cut(field, ":")
					var replicas scaling.Replicas
					if _, err := fmt.Sscan(n, &replicas); err != nil {
						t.Fatal(err)
					}
					want[name] = replicas
				}
				if diff := cmp.Diff(want, targets); diff != "" {
					t.Errorf("contender %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestWhatRunsIsNoRoomForALargerVariant: one replica of variant four is cheaper than single
// replicas for the same demand, but needs four accelerators beside those that running replicas
// hold.
func TestWhatRunsIsNoRoomForALargerVariant(t *testing.T) {
	both := func(namespace string, rank int, demand float64, singles scaling.Replicas) Contender {
		c := contender(namespace, rank, demand, fleet{"single", 10, 5, singles, nil, 0}, fleet{"four", 30, 30, 0, nil, 0})
		for i := range c.Votes.Snapshot.Variants {
			v := &c.Votes.Snapshot.Variants[i]
			v.Accelerator, v.GPUsPerReplica = "H100", map[string]scaling.Accelerators{"single": 1, "four": 4}[v.Key.Name]
		}
		c.Decisions = Cover(c.Votes)
		return c
	}
	for _, tc := range []struct {
		name       string
		stock      scaling.Accelerators
		contenders []Contender
		want       []string
	}{
		{"room for it", 8, []Contender{both("a", 1, 40, 4)}, []string{"four:1 single:4"}},
		{"no room for it", 7, []Contender{both("a", 1, 40, 4)}, []string{"four:0 single:7"}},
		{"none because of another model", 9, []Contender{both("a", 1, 40, 4), both("b", 1, 10, 2)}, []string{"four:0 single:7", "four:0 single:2"}},
		{"room that a less important model has", 9, []Contender{both("a", 1, 40, 4), both("b", 2, 10, 2)}, []string{"four:1 single:4", "four:0 single:2"}},
		{"none that a more important model has", 9, []Contender{both("a", 2, 40, 4), both("b", 1, 10, 2)}, []string{"four:0 single:7", "four:0 single:2"}},
		{"each keeps what it has before it grows", 12, []Contender{both("a", 1, 40, 4), both("b", 2, 30, 3)}, []string{"four:1 single:4", "four:0 single:4"}},
	} {
		given, _ := Share(tc.contenders, map[string]scaling.Accelerators{"H100": tc.stock})
		for i, decisions := range given {
			var got []string
			for _, d := range decisions {
				got = append(got, fmt.Sprintf("%s:%d", d.Variant.Name, d.Target()))
			}
			if is := strings.Join(got, " "); is != tc.want[i] {
				t.Errorf("%s: contender %d gets %s, want %s", tc.name, i, is, tc.want[i])
			}
		}
	}
}

// TestOneVariantAloneSharesNothing: the capacity stage reports what its replicas need and who holds
// it.
func TestOneVariantAloneSharesNothing(t *testing.T) {
	c := contender("a", 1, 40, fleet{"l40s", 10, 5, 1, nil, 0})
	given, gap := Share([]Contender{c}, map[string]scaling.Accelerators{"L40S": 2})
	if diff := cmp.Diff(c.Decisions, given[0]); diff != "" || gap.Known() {
		t.Errorf("gap %v; decisions (-want +got):\n%s", gap, diff)
	}
}

// TestATypeThatIsShortGrowsNoSteadyModel: a model without agreed growth must not grow because
// another model is short of accelerators, whether of the same type or another.
func TestATypeThatIsShortGrowsNoSteadyModel(t *testing.T) {
	steady := contender("a", 1, 40, fleet{"l40s", 10, 5, 1, nil, 0})
	for i, d := range steady.Decisions {
		steady.Decisions[i] = scaling.Decision{Variant: d.Variant, Model: d.Model, Current: d.Current}
	}
	for _, on := range []string{"h100", "l40s"} {
		short := contender("b", 1, 400, fleet{on, 40, 12, 1, nil, 0}, fleet{"mi300x", 80, 12, 0, nil, 0})
		given, gap := Share([]Contender{steady, short}, map[string]scaling.Accelerators{"L40S": 20, "H100": 2})
		if diff := cmp.Diff(steady.Decisions, given[0]); diff != "" || !gap.Known() {
			t.Errorf("short of %s: gap %v; decisions (-want +got):\n%s", on, gap, diff)
		}
	}
}

func TestSharesExceedNoStockAndDependOnNoOrder(t *testing.T) {
	for seed := range uint64(race.Cases(150)) {
		r := rand.New(rand.NewPCG(seed, 41))
		stock := map[string]scaling.Accelerators{"X": scaling.Accelerators(r.IntN(20)), "Y": scaling.Accelerators(r.IntN(20))}
		var contenders []Contender
		for i := range 1 + r.IntN(4) {
			x, y := scaling.Replicas(r.IntN(4)), scaling.Replicas(r.IntN(3))
			stock["X"] += scaling.Accelerators(x)
			stock["Y"] += scaling.Accelerators(y)
			contenders = append(contenders, contender(fmt.Sprint("ns", i), 1+r.IntN(3), 60*r.Float64(),
				fleet{"x", float64(1 + r.IntN(20)), 1 + 5*r.Float64(), x, nil, 0}, fleet{"y", float64(1 + r.IntN(20)), 1 + 5*r.Float64(), y, nil, 0}))
		}
		shares, gap := Share(contenders, stock)
		if gap.Known() && !(gap.Value >= 0 && gap.Value <= 1) {
			t.Errorf("a gap of %s to the least cost", gap)
		}
		grown := map[string]scaling.Replicas{}
		for _, decisions := range shares {
			for _, d := range decisions {
				grown[strings.ToUpper(d.Variant.Name)] += max(0, d.Target()-d.Current)
				if d.Target() < d.Current {
					t.Errorf("seed %d: %s gives up %d of %d", seed, d.Variant, d.Current-d.Target(), d.Current)
				}
			}
		}
		for on, n := range grown {
			// Models of higher rank may ask for accelerators that the lowest rank holds: the
			// capacity stage takes them back.
			if scaling.Accelerators(n) > stock[on] {
				t.Errorf("seed %d: %d %s more, of %d that there are", seed, n, on, stock[on])
			}
		}
		r.Shuffle(len(contenders), func(i, j int) {
			contenders[i], contenders[j] = contenders[j], contenders[i]
			shares[i], shares[j] = shares[j], shares[i]
		})
		again, _ := Share(contenders, stock)
		if diff := cmp.Diff(shares, again); diff != "" {
			t.Fatalf("seed %d: shuffled (-want +got):\n%s", seed, diff)
		}
	}
}

// TestNumbersBeyondTheSolverAreNamed: with a cost that the solver refuses, every model keeps its
// unlimited decision.
func TestNumbersBeyondTheSolverAreNamed(t *testing.T) {
	c := contender("a", 1, 40, fleet{"x", 1e13, 5, 1, nil, 0}, fleet{"y", 1e13, 5, 0, nil, 0})
	given, _ := Share([]Contender{c}, nil)
	for _, d := range given[0] {
		last := d.Steps[len(d.Steps)-1]
		if d.Target() != map[string]scaling.Replicas{"x": 8, "y": 0}[d.Variant.Name] || last.Reason != scaling.ReasonShared || !strings.Contains(last.Detail, "1e+12") {
			t.Errorf("%d replicas, %+v", d.Target(), last)
		}
	}
}

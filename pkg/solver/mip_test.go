package solver

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// best is the slow and obvious solver: it tries every combination, and returns
// how many servers of each priority the best one serves, and its objective.
func best(choices []core.Choice, left stock) (served map[int]int, cost float64) {
	priorities := map[int]bool{}
	for _, c := range choices {
		priorities[c.Priority] = true
	}
	better := func(a, b map[int]int) int {
		for p := range 100 {
			if priorities[p] && a[p] != b[p] {
				return a[p] - b[p]
			}
		}
		return 0
	}
	served, cost = map[int]int{}, math.Inf(1)
	now, sum := map[int]int{}, 0.0
	var try func(i int)
	try = func(i int) {
		if i == len(choices) {
			if d := better(now, served); d > 0 || d == 0 && sum < cost {
				served, cost = maps.Clone(now), sum
			}
			return
		}
		c := choices[i]
		try(i + 1)
		for _, a := range c.Candidates {
			if left.fits(a) < a.Replicas {
				continue
			}
			left.take(a)
			now[c.Priority]++
			sum += objective(c.Server, a)
			try(i + 1)
			sum -= objective(c.Server, a)
			now[c.Priority]--
			left[a.Type] += a.Replicas * a.Units
		}
	}
	try(0)
	return served, cost
}

func TestExactIsTheBestOfAllCombinations(t *testing.T) {
	const seed = 21
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		system, _ := draw(t, rng, shape{servers: 1 + rng.IntN(5), accelerators: 1 + rng.IntN(4), types: 1 + rng.IntN(2), running: rng.IntN(2) == 0})
		limits := stockFor(t, system, 0.3+0.9*rng.Float64())
		s := solve(t, mip(t, MIPOptions{}), system, Constraints{Limited: true, Stock: limits})
		wantServed, wantCost := best(system.Choices(), limits)
		served := map[int]int{}
		for _, a := range s.Assignments {
			c, _ := system.Choice(a.Server)
			served[c.Priority]++
		}
		for p, n := range wantServed {
			if served[p] != n {
				t.Errorf("seed %d: priority %d: %d are served, %d could be", seed, p, served[p], n)
			}
		}
		if math.Abs(s.Objective-wantCost) > 1e-6*(1+wantCost) {
			t.Errorf("seed %d: got %g, the best combination has %g", seed, s.Objective, wantCost)
		}
		if s.Proof.Status != Optimal || s.Proof.Bound > s.Objective*(1+1e-9) {
			t.Errorf("seed %d: got %+v for an objective of %g", seed, s.Proof, s.Objective)
		}
	}
}

func TestAMixCoversTheDemandForNoMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 0))
	cheaper := 0
	for range 10 {
		system, _ := draw(t, rng, shape{servers: 8, accelerators: 4, types: 2})
		single := solve(t, mip(t, MIPOptions{}), system, Constraints{})
		mix := solve(t, mip(t, MIPOptions{Mix: true}), system, Constraints{})
		checkSound(t, system, Constraints{}, mix)
		if mix.Objective > single.Objective*(1+1e-6) {
			t.Errorf("a mix costs %g, one accelerator for each server %g", mix.Objective, single.Objective)
		}
		if mix.Objective < single.Objective*(1-1e-6) {
			cheaper++
		}
		supply, rate := map[string]float64{}, map[string]float64{}
		for _, a := range mix.Assignments {
			supply[a.Server] += float64(a.Replicas) * a.MaxRate
			rate[a.Server] += a.Demand
		}
		for _, c := range system.Choices() {
			demand, name := c.Server.Load.ArrivalRate, c.Server.Name
			if supply[name] < demand*(1-1e-9) || math.Abs(rate[name]-demand) > 1e-9*demand {
				t.Errorf("server %s: %g of %g requests/s are shared out to a supply of %g", name, rate[name], demand, supply[name])
			}
		}
	}
	if cheaper == 0 {
		t.Error("no mix was ever cheaper: it is not tried")
	}
}

func TestAMixKeepsMinimaAndBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 0))
	_, parts := draw(t, rng, shape{servers: 2, accelerators: 3, types: 3})
	parts.Servers[0].MinReplicas = 7
	parts.Servers[1].MinReplicas, parts.Servers[1].Load.ArrivalRate = 2, 0
	system, err := core.NewSystem(parts, core.Correct)
	if err != nil {
		t.Fatal(err)
	}
	first := parts.Servers[0].Name
	bounds := map[Variant]Bounds{{first, "acc00"}: {Min: 1, Max: 2}, {first, "acc01"}: {Max: 0}}
	s := solve(t, mip(t, MIPOptions{Mix: true}), system, Constraints{Bounds: bounds})
	total := map[string]int{}
	for _, a := range s.Assignments {
		total[a.Server] += a.Replicas
		if b, ok := bounds[Variant{a.Server, a.Accelerator}]; ok && (a.Replicas < b.Min || a.Replicas > b.Max) {
			t.Errorf("%d replicas of %s on %s, want %d to %d", a.Replicas, a.Server, a.Accelerator, b.Min, b.Max)
		}
	}
	if !slices.ContainsFunc(s.Assignments, func(a Assignment) bool { return a.Server == first && a.Accelerator == "acc00" }) {
		t.Errorf("got %+v, want the minimum of acc00 kept", s.Assignments)
	}
	if total[first] < 7 || total[parts.Servers[1].Name] != 2 {
		t.Errorf("got %v replicas, want 7 or more of %s, and the minimum of 2 of the idle server", total, first)
	}
}

func TestAMixMovesOnlyForMoreThanTheMoveCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 0))
	_, parts := draw(t, rng, shape{servers: 1, accelerators: 2, types: 2})
	parts.Accelerators[1] = parts.Accelerators[0] // twins, the second a little cheaper
	parts.Accelerators[1].Name, parts.Accelerators[1].Cost = "acc01", 0.95*parts.Accelerators[0].Cost
	for i := range parts.Models {
		parts.Models[i].Profiles[1] = parts.Models[i].Profiles[0]
		parts.Models[i].Profiles[1].Accelerator = "acc01"
	}
	for current, want := range map[string]string{"": "acc01", "acc00": "acc00", "acc01": "acc01"} {
		parts.Servers[0].Current = core.Allocation{Accelerator: current, Replicas: 100}
		system, err := core.NewSystem(parts, core.Correct)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range solve(t, mip(t, MIPOptions{Mix: true}), system, Constraints{}).Assignments {
			if a.Accelerator != want {
				t.Errorf("runs on %q: got %d replicas on %s, want all on %s", current, a.Replicas, a.Accelerator, want)
			}
		}
	}
}

func TestWhatCannotBeServedIsNamedAndTheRestSolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 0))
	_, parts := draw(t, rng, shape{servers: 4, accelerators: 2, types: 2})
	parts.Servers[0].Load.Unknown = true
	parts.Servers[1].Load.ArrivalRate = 5000 // beyond the stock
	system, err := core.NewSystem(parts, core.Correct)
	if err != nil {
		t.Fatal(err)
	}
	c := Constraints{Limited: true, Stock: map[string]int{"type0": 40, "type1": 40}}
	for _, mix := range []bool{false, true} {
		s := solve(t, mip(t, MIPOptions{Mix: mix, Policy: config.PolicyPriorityExhaustive}), system, c)
		checkSound(t, system, c, s)
		if len(s.Shortfalls) != 2 || s.Shortfalls[0].Server != "server0000" || s.Shortfalls[1].Server != "server0001" {
			t.Fatalf("mix %t: got shortfalls %v, want the first two servers", mix, s.Shortfalls)
		}
		if s.Shortfalls[0].Got != 0 || s.Shortfalls[1].Got == 0 {
			t.Errorf("mix %t: got %+v, want nothing for the first and best effort for the second", mix, s.Shortfalls)
		}
	}
}

// TestAnAllocationBeyondAnyStockDoesNotKeepTheOthersFromBeingSolved has one server
// whose units are more than the exact solver counts.
func TestAnAllocationBeyondAnyStockDoesNotKeepTheOthersFromBeingSolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 0))
	_, parts := draw(t, rng, shape{servers: 3, accelerators: 2, types: 2})
	parts.Servers[0].MinReplicas = 1_000_000
	for m := range parts.Models {
		for p := range parts.Models[m].Profiles {
			parts.Models[m].Profiles[p].Count = 2
		}
	}
	for i := range parts.Accelerators {
		parts.Accelerators[i].Multiplicity = 10_000
	}
	system, err := core.NewSystem(parts, core.Correct)
	if err != nil {
		t.Fatal(err)
	}
	for _, mix := range []bool{false, true} {
		m := mip(t, MIPOptions{Mix: mix})
		c := Constraints{Limited: true, Stock: map[string]int{"type0": 400_000, "type1": 400_000}}
		s := solve(t, m, system, c)
		checkSound(t, system, c, s)
		if len(s.Shortfalls) != 1 || s.Shortfalls[0].Server != "server0000" {
			t.Errorf("mix %t: got shortfalls %v, want the first server only", mix, s.Shortfalls)
		}
		if s := solve(t, m, system, Constraints{}); len(s.Shortfalls) != 0 {
			t.Errorf("mix %t, unlimited: got shortfalls %v, want none", mix, s.Shortfalls)
		}
	}
}

func TestASearchThatIsStoppedIsNeverWorseThanGreedy(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 0))
	for range 5 {
		system, _ := draw(t, rng, shape{servers: 30, accelerators: 6, types: 3, running: true})
		c := Constraints{Limited: true, Stock: stockFor(t, system, 0.9)}
		g := solve(t, greedy(t, GreedyOptions{}), system, c)
		m := solve(t, mip(t, MIPOptions{Stop: func() bool { return true }}), system, c)
		if d := slices.Compare(served(system, m), served(system, g)); d < 0 || d == 0 && m.Objective > g.Objective*(1+1e-9) {
			t.Errorf("stopped: serves %v at %g, greedy %v at %g", served(system, m), m.Objective, served(system, g), g.Objective)
		}
		if m.Proof.Bound > m.Objective*(1+1e-9) {
			t.Errorf("the bound %g is above the objective %g", m.Proof.Bound, m.Objective)
		}
	}
}

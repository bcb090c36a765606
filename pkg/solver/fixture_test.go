package solver

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// shape is the size of a drawn system.
type shape struct {
	servers, accelerators, types int
	running                      bool // servers have a current allocation
}

// draw returns a system whose servers can all be served by some accelerator, and
// the parts that it was made of.
func draw(t testing.TB, rng *rand.Rand, s shape) (core.System, core.Parts) {
	t.Helper()
	var p core.Parts
	for i := range s.accelerators {
		p.Accelerators = append(p.Accelerators, core.Accelerator{
			Name: fmt.Sprintf("acc%02d", i), Type: fmt.Sprintf("type%d", i%s.types),
			Multiplicity: 1 + i/s.types, Cost: float64(10 + rng.IntN(90)),
		})
	}
	const models = 10
	for m := range models {
		model := core.Model{Name: fmt.Sprintf("model%d", m)}
		for _, a := range p.Accelerators {
			speed := 0.5 + rng.Float64()
			model.Profiles = append(model.Profiles, core.Profile{
				Accelerator: a.Name, Count: 1 + rng.IntN(2), MaxBatch: 8 << rng.IntN(4), AtTokens: 128,
				Service: analyzer.FourParameter{Alpha: 10 * speed, Beta: 0.3 * speed, Gamma: 5 * speed, Delta: 0.05 * speed},
			})
		}
		p.Models = append(p.Models, model)
	}
	for class, priority := range []int{1, 5, 10} {
		c := core.ServiceClass{Name: fmt.Sprintf("class%d", class), Priority: priority}
		for _, m := range p.Models {
			c.Targets = append(c.Targets, core.Target{Model: m.Name, ITL: 20 * float64(1+class), TTFT: 500 * float64(1+class)})
		}
		p.Classes = append(p.Classes, c)
	}
	for i := range s.servers {
		server := core.Server{
			Name: fmt.Sprintf("server%04d", i), Model: fmt.Sprintf("model%d", rng.IntN(models)), Class: fmt.Sprintf("class%d", rng.IntN(3)),
			Load: core.Load{ArrivalRate: 20 * rng.Float64(), InputTokens: 128, OutputTokens: 128},
		}
		if s.running {
			a := p.Accelerators[rng.IntN(len(p.Accelerators))]
			server.Current = core.Allocation{Accelerator: a.Name, Replicas: 1 + rng.IntN(4)}
			server.Current.Cost = a.Cost * float64(server.Current.Replicas)
		}
		p.Servers = append(p.Servers, server)
	}
	system, err := core.NewSystem(p, core.Correct)
	if err != nil {
		t.Fatal(err)
	}
	return system, p
}

// stockFor returns a share of what the cheapest solution takes of each type.
func stockFor(t testing.TB, system core.System, share float64) map[string]int {
	t.Helper()
	limits := map[string]int{}
	for _, a := range solve(t, greedy(t, GreedyOptions{}), system, Constraints{}).Assignments {
		limits[a.Type] += a.Replicas * a.Units
	}
	for name, n := range limits {
		limits[name] = int(share * float64(n))
	}
	return limits
}

type anySolver interface {
	Solve(core.System, Constraints) (Solution, error)
}

func solve(t testing.TB, s anySolver, system core.System, c Constraints) Solution {
	t.Helper()
	solution, err := s.Solve(system, c)
	if err != nil {
		t.Fatal(err)
	}
	return solution
}

func greedy(t testing.TB, o GreedyOptions) GreedySolver {
	t.Helper()
	g, err := NewGreedySolver(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mip(t testing.TB, o MIPOptions) MIPSolver {
	t.Helper()
	m, err := NewMIPSolver(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkSound checks what holds of every solution: no type is overdrawn, no server
// has more than it wants, and exactly those with less are named.
func checkSound(t *testing.T, system core.System, c Constraints, s Solution) {
	t.Helper()
	used := map[string]int{}
	short := map[string]bool{}
	for _, x := range s.Shortfalls {
		short[x.Server] = true
	}
	full := map[string]bool{}
	cost := 0.0
	for _, a := range s.Assignments {
		used[a.Type] += a.Replicas * a.Units
		cost += a.Cost
		if a.Replicas > a.Wanted {
			t.Errorf("server %s has %d replicas and wants %d", a.Server, a.Replicas, a.Wanted)
		}
		full[a.Server] = a.Replicas == a.Wanted
	}
	for name, n := range used {
		if c.Limited && n > c.Stock[name] {
			t.Errorf("%d of type %s are used, %d in stock", n, name, c.Stock[name])
		}
	}
	for _, choice := range system.Choices() {
		if name := choice.Server.Name; full[name] == short[name] {
			t.Errorf("server %s: served in full %t, named as short %t", name, full[name], short[name])
		}
	}
	if d := cost - s.Cost; d > 1e-6 || d < -1e-6 {
		t.Errorf("got a cost of %g, the assignments cost %g", s.Cost, cost)
	}
}

// served returns how many servers of each priority are served in full, the most
// important first.
func served(system core.System, s Solution) []int {
	counts := map[int]int{}
	for _, c := range system.Choices() {
		counts[c.Priority]++
	}
	for _, x := range s.Shortfalls {
		counts[x.Priority]--
	}
	var out []int
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, counts[p])
	}
	return out
}

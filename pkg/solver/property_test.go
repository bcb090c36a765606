package solver

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// solvers are all ways to solve.
func solvers(t testing.TB) map[string]anySolver {
	t.Helper()
	out := map[string]anySolver{
		"exact":              mip(t, MIPOptions{}),
		"exact, turns":       mip(t, MIPOptions{Policy: config.PolicyRoundRobin}),
		"exact, mix":         mip(t, MIPOptions{Mix: true, Gap: 0.01, Policy: config.PolicyPriorityExhaustive}),
		"exact, cut short":   mip(t, MIPOptions{MaxWork: 1}),
		"exact, out of time": mip(t, MIPOptions{Mix: true, Stop: func() bool { return true }}),
	}
	for _, p := range config.Policies() {
		out["greedy "+string(p)] = greedy(t, GreedyOptions{Policy: p})
		out["greedy, delayed "+string(p)] = greedy(t, GreedyOptions{Policy: p, DelayedBestEffort: true})
	}
	return out
}

func TestSolutionsAreSoundAndDoNotDependOnOrder(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	byMessage := cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })
	for range 6 {
		system, parts := draw(t, rng, shape{servers: 12, accelerators: 5, types: 3, running: rng.IntN(2) == 0})
		c := Constraints{Limited: true, Stock: stockFor(t, system, 0.4+0.6*rng.Float64())}
		rng.Shuffle(len(parts.Servers), func(i, j int) { parts.Servers[i], parts.Servers[j] = parts.Servers[j], parts.Servers[i] })
		rng.Shuffle(len(parts.Accelerators), func(i, j int) {
			parts.Accelerators[i], parts.Accelerators[j] = parts.Accelerators[j], parts.Accelerators[i]
		})
		shuffled, err := core.NewSystem(parts, core.Correct)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range solvers(t) {
			t.Run(name, func(t *testing.T) {
				got := solve(t, s, system, c)
				checkSound(t, system, c, got)
				if diff := cmp.Diff(got, solve(t, s, shuffled, c), byMessage, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("seed %d: another order gives another solution (-was +is):\n%s", seed, diff)
				}
			})
		}
	}
}

func TestWithoutALimitEveryServerHasItsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	system, _ := draw(t, rng, shape{servers: 30, accelerators: 6, types: 3, running: true})
	g, m := solve(t, greedy(t, GreedyOptions{}), system, Constraints{}), solve(t, mip(t, MIPOptions{}), system, Constraints{})
	for i, a := range g.Assignments {
		c, _ := system.Choice(a.Server)
		if diff := cmp.Diff(c.Candidates[0], a.Allocation); diff != "" {
			t.Errorf("server %s (-best +given):\n%s", a.Server, diff)
		}
		if diff := cmp.Diff(a, m.Assignments[i]); diff != "" {
			t.Errorf("greedy and exact differ (-greedy +exact):\n%s", diff)
		}
	}
	if g.Proof.Status != Optimal || m.Proof.Status != Optimal {
		t.Errorf("got %s and %s, want both optimal", g.Proof.Status, m.Proof.Status)
	}
}

// TestMoreLoadNeverCostsLess compares systems that differ in load only.
func TestMoreLoadNeverCostsLess(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for range 5 {
		system, parts := draw(t, rng, shape{servers: 10, accelerators: 4, types: 2})
		for i := range parts.Servers {
			parts.Servers[i].Load.ArrivalRate *= 1 + rng.Float64()
		}
		harder, err := core.NewSystem(parts, core.Correct)
		if err != nil {
			t.Fatal(err)
		}
		// Stock for all, so that both serve the same servers.
		c := Constraints{Limited: true, Stock: stockFor(t, harder, 1)}
		for _, m := range []MIPSolver{mip(t, MIPOptions{}), mip(t, MIPOptions{Mix: true})} {
			easy, hard := solve(t, m, system, c), solve(t, m, harder, c)
			if hard.Objective < easy.Objective*(1-1e-6) {
				t.Errorf("%+v: got %g for more load, %g for less", m.options, hard.Objective, easy.Objective)
			}
		}
	}
}

func TestBoundsRaiseAndRefuseCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	system, _ := draw(t, rng, shape{servers: 1, accelerators: 3, types: 3})
	choice := system.Choices()[0]
	best, second := choice.Candidates[0], choice.Candidates[1]
	name := choice.Server.Name
	for kind, s := range map[string]anySolver{"greedy": greedy(t, GreedyOptions{}), "exact": mip(t, MIPOptions{})} {
		none := Constraints{Bounds: map[Variant]Bounds{{name, best.Accelerator}: {Max: best.Replicas - 1}}}
		if got := solve(t, s, system, none).Assignments; len(got) != 1 || got[0].Accelerator != second.Accelerator {
			t.Errorf("%s: got %+v, want the second best, on %s", kind, got, second.Accelerator)
		}
		raise := Constraints{Bounds: map[Variant]Bounds{}}
		for _, a := range choice.Candidates {
			raise.Bounds[Variant{name, a.Accelerator}] = Bounds{Min: a.Replicas + 2, Max: a.Replicas + 2}
		}
		got := solve(t, s, system, raise).Assignments
		if len(got) != 1 || got[0].Replicas != raise.Bounds[Variant{name, got[0].Accelerator}].Min || got[0].TTFT >= 500*3 {
			t.Errorf("%s: got %+v, want the minimum of %v", kind, got, raise.Bounds)
		}
	}
}

func TestConstraintsOutOfRangeAreErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 0))
	system, _ := draw(t, rng, shape{servers: 1, accelerators: 1, types: 1})
	name := system.Choices()[0].Server.Name
	tests := []struct {
		c    Constraints
		want string
	}{
		{Constraints{Limited: true, Stock: map[string]int{"A": -1}}, `constraints: stock of "A" is -1: want 0 or more`},
		{Constraints{Bounds: map[Variant]Bounds{{"x", "A"}: {}}}, `constraints: bounds of server "x": there is no such server`},
		{Constraints{Bounds: map[Variant]Bounds{{name, "A"}: {Min: 2, Max: 1}}}, `constraints: bounds of server "` + name + `" on "A" are 2 to 1: want 0 <= minimum <= maximum`},
	}
	for _, test := range tests {
		for kind, s := range map[string]anySolver{"greedy": greedy(t, GreedyOptions{}), "exact": mip(t, MIPOptions{})} {
			if _, err := s.Solve(system, test.c); err == nil || err.Error() != test.want {
				t.Errorf("%s: got %v, want %s", kind, err, test.want)
			}
		}
	}
}

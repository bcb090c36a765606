package solver

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver/internal/exact"
)

// MIPOptions are the options of a MIPSolver. The zero value searches until the
// optimum is proven.
type MIPOptions struct {
	// Mix lets the replicas of several accelerators share the load of one server.
	// Without it a server has one accelerator, as in the published solution.
	//
	// In a mix, Server.MinReplicas of m means that a replica counts for at most 1/m of the demand,
	// and each replica on an accelerator that the server does not use now costs MovePenalty more.
	Mix bool
	// Policy says what a server gets that cannot be served in full; the empty policy means
	// config.PolicyNone. It shares out the stock that the exact solution leaves.
	Policy config.SaturationPolicy
	// Gap is the accepted relative gap, 0 or more: 0.01 ends the search when the solution is proven
	// to be within 1 % of the best, and no priority leaves out more than 1 % of all servers beyond
	// those that it must.
	Gap float64
	// MaxWork ends the search after so many problems of one server; 0 is no limit. A problem with
	// many mixes of accelerators counts for more, and may end with a good mix instead of the best.
	// Unlike Stop, MaxWork gives the same solution on every machine.
	MaxWork int
	// Stop is called from time to time, by the goroutine of Solve, and ends the search when it
	// returns true; nil is never. Solve then returns the best solution found, with its bound.
	Stop func() bool
}

// MIPSolver finds the best solution, to a proven bound. It wraps an exact solver
// made for this problem.
type MIPSolver struct{ options MIPOptions }

// NewMIPSolver returns an exact solver. Its error is an option out of range.
func NewMIPSolver(options MIPOptions) (MIPSolver, error) {
	policy, err := checkPolicy(options.Policy)
	if err != nil {
		return MIPSolver{}, err
	}
	options.Policy = policy
	if !(options.Gap >= 0) || math.IsInf(options.Gap, 1) {
		return MIPSolver{}, fmt.Errorf("gap %g: want 0 or more, such as 0.01 for 1 %%", options.Gap)
	}
	if options.MaxWork < 0 {
		return MIPSolver{}, fmt.Errorf("maximum work %d: want 0 (no limit) or more", options.MaxWork)
	}
	return MIPSolver{options}, nil
}

// Solve returns what every server gets, with its proof. Shortfalls names the servers that cannot be
// served; the others are solved. The error is a constraint out of range.
func (m MIPSolver) Solve(system core.System, constraints Constraints) (Solution, error) {
	if err := constraints.validate(system); err != nil {
		return Solution{}, err
	}
	choices := constraints.choices(system)
	p := newProblem(m.mixing(system, choices), constraints, m.options.Mix)
	first := cheapestOrGreedy(choices, constraints)
	result, err := exact.Solve(p.exact, exact.Params{
		Gap: m.options.Gap, MaxWork: m.options.MaxWork, Stop: m.options.Stop, Start: p.start(first),
	})
	if err != nil {
		return Solution{}, fmt.Errorf("solving: %w", err)
	}
	given, err := p.answer(result.Counts)
	if err != nil {
		return Solution{}, err
	}
	left := stock{}
	if constraints.Limited {
		maps.Copy(left, constraints.Stock)
		for _, allocations := range given {
			for _, a := range allocations {
				left.take(a)
			}
		}
		bestEffort(m.options.Policy, unserved(choices, given), given, left)
	}
	s := solution(choices, given, left)
	s.Objective = result.Cost
	s.Proof = Proof{
		Status: statusOf(result.Status), Bound: result.Bound, Gap: result.Gap, Nodes: result.Nodes, Work: result.Work,
	}
	return s, nil
}

// mixing returns the choices of the exact problem. In a mix, bounds limit the part of each
// accelerator, and not a candidate that serves the whole load.
func (m MIPSolver) mixing(system core.System, bounded []core.Choice) []core.Choice {
	if !m.options.Mix {
		return bounded
	}
	choices := system.Choices()
	for i, c := range choices {
		if !mixes(c) {
			choices[i] = bounded[i]
		}
	}
	return choices
}

// cheapestOrGreedy returns the allocations with which the search begins.
func cheapestOrGreedy(choices []core.Choice, constraints Constraints) map[string][]core.Allocation {
	if constraints.Limited {
		given, _ := GreedySolver{}.allocate(choices, maps.Clone(constraints.Stock))
		return given
	}
	given := map[string][]core.Allocation{}
	for _, a := range cheapest(choices).Assignments {
		given[a.Server] = []core.Allocation{a.Allocation}
	}
	return given
}

// unserved returns the servers that have candidates and were given nothing, by
// priority and name.
func unserved(choices []core.Choice, given map[string][]core.Allocation) []core.Choice {
	var out []core.Choice
	for _, c := range choices {
		if len(c.Candidates) > 0 && len(given[c.Server.Name]) == 0 {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Choice) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

func statusOf(s exact.Status) Status {
	switch s {
	case exact.Optimal:
		return Optimal
	case exact.WithinGap:
		return WithinGap
	case exact.Bounded:
	}
	return Bounded
}

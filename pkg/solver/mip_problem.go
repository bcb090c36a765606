package solver

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver/internal/exact"
)

// problem is an allocation problem in the numbers of the exact solver: a group
// for each server with candidates, an option for each candidate.
//
// A server with one accelerator has a demand of 1, which one whole candidate covers. A mixed server
// has a demand in requests/s, which replicas cover together.
type problem struct {
	exact   exact.Problem
	choices []core.Choice // of the groups, in their order
	mixed   []bool
}

func newProblem(choices []core.Choice, constraints Constraints, mix bool) problem {
	var p problem
	types := map[string]int{}
	for _, name := range typesOf(choices) {
		types[name] = len(p.exact.Types)
		p.exact.Types = append(p.exact.Types, exact.Type{Name: name, Stock: constraints.limit(name)})
	}
	for _, c := range choices {
		if len(c.Candidates) == 0 {
			continue
		}
		group := exact.Group{Name: c.Server.Name, Priority: c.Priority, Demand: 1}
		mixed := mix && mixes(c)
		if mixed {
			group.Demand = c.Candidates[0].Demand
		}
		for _, a := range c.Candidates {
			if mixed {
				group.Options = append(group.Options, mixedOption(c.Server, a, types[a.Type], constraints))
				continue
			}
			group.Options = append(group.Options, exact.Option{
				Name: a.Accelerator, Type: types[a.Type], Units: counted(a.Replicas*a.Units, constraints.limit(a.Type)),
				Capacity: 1, Max: 1, Cost: max(objective(c.Server, a), 0),
			})
		}
		p.exact.Groups = append(p.exact.Groups, group)
		p.choices = append(p.choices, c)
		p.mixed = append(p.mixed, mixed)
	}
	return p
}

// mixes reports whether a server has a load that accelerators can share.
func mixes(c core.Choice) bool { return len(c.Candidates) > 0 && c.Candidates[0].Demand > 0 }

// mixedOption returns the option for one accelerator of a server whose load several accelerators
// share.
func mixedOption(s core.Server, a core.Allocation, typeIndex int, constraints Constraints) exact.Option {
	replica := a.Limit(1)
	o := exact.Option{
		Name: a.Accelerator, Type: typeIndex, Units: counted(a.Units, constraints.limit(a.Type)),
		Capacity: a.MaxRate, Max: exact.Unlimited, Cost: replica.Cost,
	}
	if s.MinReplicas > 0 {
		o.Capacity = min(o.Capacity, a.Demand/float64(s.MinReplicas))
	}
	if b, ok := constraints.Bounds[Variant{s.Name, a.Accelerator}]; ok {
		o.Min, o.Max = b.Min, b.Max
	}
	if a.Accelerator == s.Current.Accelerator {
		o.Current = s.Current.Replicas
	} else {
		o.AddCost = core.MovePenalty * replica.Cost
	}
	return o
}

// limit returns the stock of a type, or exact.Unlimited without a limit.
func (c Constraints) limit(name string) int {
	if !c.Limited {
		return exact.Unlimited
	}
	return c.Stock[name]
}

// counted returns units, at most one more than stock, since all larger numbers are equally too
// many; 0 without a limit. It keeps a huge allocation within the range of the exact solver.
func counted(units, stock int) int {
	if stock == exact.Unlimited {
		return 0
	}
	return min(units, stock+1)
}

// typesOf returns the types of all candidates, sorted.
func typesOf(choices []core.Choice) []string {
	var names []string
	for _, c := range choices {
		for _, a := range c.Candidates {
			names = append(names, a.Type)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// start returns a solution as counts of the exact solver.
func (p problem) start(given map[string][]core.Allocation) [][]int {
	counts := make([][]int, len(p.choices))
	for g, c := range p.choices {
		counts[g] = make([]int, len(c.Candidates))
		for _, a := range given[c.Server.Name] {
			i := slices.IndexFunc(c.Candidates, func(b core.Allocation) bool { return b.Accelerator == a.Accelerator })
			counts[g][i] = 1
			if p.mixed[g] {
				counts[g][i] = a.Replicas
			}
		}
	}
	return counts
}

// answer returns the allocations that the counts give each server, by name.
func (p problem) answer(counts [][]int) (map[string][]core.Allocation, error) {
	given := make(map[string][]core.Allocation, len(counts))
	for g, c := range p.choices {
		if p.mixed[g] {
			shares, err := share(c, counts[g])
			if err != nil {
				return nil, err
			}
			if len(shares) > 0 {
				given[c.Server.Name] = shares
			}
			continue
		}
		if i := slices.IndexFunc(counts[g], func(n int) bool { return n > 0 }); i >= 0 {
			given[c.Server.Name] = []core.Allocation{c.Candidates[i]}
		}
	}
	return given, nil
}

// share returns the allocations of a mix. Each replica gets a load in proportion to its maximum
// rate.
func share(c core.Choice, counts []int) ([]core.Allocation, error) {
	total := 0.0
	for i, n := range counts {
		total += float64(n) * c.Candidates[i].MaxRate
	}
	var shares []core.Allocation
	for i, n := range counts {
		if n == 0 {
			continue
		}
		candidate := c.Candidates[i]
		rate := candidate.Demand * float64(n) * candidate.MaxRate / total
		a, err := c.Predict(candidate.Accelerator, n, rate)
		if err != nil {
			return nil, err
		}
		a.Value = a.Cost * (1 + core.MovePenalty)
		if a.Accelerator == c.Server.Current.Accelerator {
			a.Value = a.Cost - c.Server.Current.Cost
		}
		shares = append(shares, a)
	}
	return shares, nil
}

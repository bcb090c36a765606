package exact

import (
	"cmp"
	"math"
	"slices"
)

// BestEffort hands what the solution leaves of the stock to the groups that it
// does not serve, by priority and name, and returns the counts of all groups in
// the order of the problem. A group takes of its options, the one with the
// lowest cost per capacity first, as many replicas as fit, until its demand is
// covered or nothing fits any more; it may stay below its Min. This is a
// heuristic and nothing is proven about its cost. The solution must be one of
// the problem; an error wraps [ErrInvalid].
func BestEffort(p Problem, s Solution) ([][]int, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	counts, err := p.start(s.Counts)
	if err != nil {
		return nil, err
	}
	left := p.leftover(counts)
	for _, g := range newInstance(p).groups {
		if counts[g.index] == nil {
			counts[g.index] = p.Groups[g.index].fill(left)
		} else {
			counts[g.index] = slices.Clone(counts[g.index])
		}
	}
	return counts, nil
}

// fill takes from left what the group can use.
func (g Group) fill(left []int) []int {
	order := make([]int, len(g.Options))
	for v := range order {
		order[v] = v
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := g.Options[a], g.Options[b]
		return cmp.Or(cmp.Compare(x.Cost/x.Capacity, y.Cost/y.Capacity), cmp.Compare(x.Name, y.Name))
	})
	counts := make([]int, len(g.Options))
	covered := 0.0
	for _, v := range order {
		o := g.Options[v]
		rest := max(0, g.Demand*(1-coverTolerance)-covered)
		n := min(limit(o.Max), int(math.Ceil(rest/o.Capacity)))
		if o.Units > 0 {
			n = min(n, left[o.Type]/o.Units)
		}
		counts[v] = n
		covered += o.Capacity * float64(n)
		if left[o.Type] != Unlimited {
			left[o.Type] -= n * o.Units
		}
	}
	return counts
}

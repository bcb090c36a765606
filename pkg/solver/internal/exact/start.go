package exact

import "fmt"

// start checks a start and returns the counts of the groups it serves, nil for
// the others.
func (p Problem) start(counts [][]int) ([][]int, error) {
	if len(counts) != len(p.Groups) {
		return nil, fmt.Errorf("%w: start has counts of %d groups, must have %d", ErrInvalid, len(counts), len(p.Groups))
	}
	served := make([][]int, len(counts))
	for i, g := range p.Groups {
		if len(counts[i]) != len(g.Options) {
			return nil, fmt.Errorf("%w: start: group %q has %d counts, must have %d", ErrInvalid, g.Name, len(counts[i]), len(g.Options))
		}
		for v, n := range counts[i] {
			if n < 0 || n > maxReplicas {
				return nil, fmt.Errorf("%w: start: group %q: option %q has %d replicas, must be from 0 to %d",
					ErrInvalid, g.Name, g.Options[v].Name, n, maxReplicas)
			}
		}
		if g.serves(counts[i]) {
			served[i] = counts[i]
		}
	}
	for t, left := range p.leftover(served) {
		if left < 0 {
			return nil, fmt.Errorf("%w: start uses %d units of %q more than its stock of %d",
				ErrInvalid, -left, p.Types[t].Name, p.Types[t].Stock)
		}
	}
	return served, nil
}

// serves reports whether the counts cover the demand within the bounds.
func (g Group) serves(counts []int) bool {
	capacity := 0.0
	for v, n := range counts {
		o := g.Options[v]
		if n < o.Min || n > limit(o.Max) {
			return false
		}
		capacity += o.Capacity * float64(n)
	}
	return g.covers(capacity)
}

// leftover returns the stock that the counts leave, by type; Unlimited stays Unlimited.
func (p Problem) leftover(counts [][]int) []int {
	left := make([]int, len(p.Types))
	for t, typ := range p.Types {
		left[t] = limit(typ.Stock)
	}
	for i, g := range p.Groups {
		for v, n := range counts[i] {
			if o := g.Options[v]; left[o.Type] != Unlimited {
				left[o.Type] -= n * o.Units
			}
		}
	}
	return left
}

// canonical returns counts in the order of the instance instead of the problem.
func (g *group) canonical(counts []int) []int {
	sorted := make([]int, len(counts))
	for v, o := range g.options {
		sorted[v] = counts[o.index]
	}
	return sorted
}

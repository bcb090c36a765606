package exact

import "fmt"

// Solve returns the solution that serves the most groups of the most important priority, then the
// most of the next, and so on, and among these costs least; see the package documentation. There
// always is one: at worst it serves no group.
//
// Equal problems have equal solutions, whatever the order of types, groups and
// options, unless Params.Stop ended the search. An error wraps [ErrInvalid].
func Solve(p Problem, params Params) (Solution, error) {
	if err := p.validate(); err != nil {
		return Solution{}, err
	}
	if !amount(params.Gap) {
		return Solution{}, fmt.Errorf("%w: gap is %v, must be finite and at least 0", ErrInvalid, params.Gap)
	}
	in := newInstance(p)
	s := newSearch(in, params)
	if params.Start != nil {
		start, err := p.start(params.Start)
		if err != nil {
			return Solution{}, err
		}
		for i, g := range in.groups {
			if start[g.index] != nil {
				s.known[i] = g.canonical(start[g.index])
			}
		}
	}
	s.run()
	return s.solution(p), nil
}

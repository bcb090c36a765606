package exact

// solution returns the result of the search.
func (s *search) solution(p Problem) Solution {
	out := Solution{
		Counts: make([][]int, len(p.Groups)),
		Nodes:  s.effort.nodes, Iterations: s.effort.iterations, Work: s.effort.work,
	}
	hopeless := s.hopeless()
	out.Bound = s.bound
	for i, g := range s.in.groups {
		counts := make([]int, len(g.options))
		if hopeless[i] {
			out.Bound += g.idle
		}
		for v := range g.options {
			n := 0
			if s.known[i] != nil {
				n = s.known[i][v]
			}
			counts[g.options[v].index] = n
			out.Cost += g.options[v].cost(n)
		}
		out.Counts[g.index] = counts
	}
	out.Bound = min(out.Bound, out.Cost)
	if out.Cost > 0 {
		out.Gap = (out.Cost - out.Bound) / out.Cost
	}
	out.Coverage = s.coverage(hopeless)
	out.Status = out.status(s.gap)
	return out
}

func (s *search) coverage(hopeless []bool) []Coverage {
	var out []Coverage
	for q, class := range s.in.classes {
		c := Coverage{Priority: class.priority, Groups: class.end - class.first, AtMost: -s.least[q]}
		for i := class.first; i < class.end; i++ {
			if s.known[i] != nil {
				c.Served++
			}
			if !hopeless[i] {
				c.AtMost++
			}
		}
		out = append(out, c)
	}
	return out
}

// status returns how well the solution is proven.
func (s *Solution) status(gap float64) Status {
	const exactly = 1e-7
	groups := float64(len(s.Counts))
	covered, best := s.Gap <= max(gap, exactly), s.Gap <= exactly
	for _, c := range s.Coverage {
		missing := float64(c.AtMost - c.Served)
		covered = covered && missing <= gap*groups
		best = best && missing <= 0
	}
	switch {
	case best:
		return Optimal
	case covered:
		return WithinGap
	}
	return Bounded
}

// hopeless marks the groups that cannot be served even alone.
func (s *search) hopeless() []bool {
	marks := make([]bool, len(s.in.groups))
	for i := range marks {
		marks[i] = true
	}
	for _, i := range s.able {
		marks[i] = false
	}
	return marks
}

package exact

// solution describes what the search knows.
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
	out.Unserved = s.unserved(p, out.Counts, hopeless)
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

// unserved names the groups left out and what they miss.
func (s *search) unserved(p Problem, counts [][]int, hopeless []bool) []Unserved {
	left := p.leftover(counts)
	roomy := make([]int, len(s.in.stock))
	for r := range roomy {
		roomy[r] = Unlimited
	}
	none := make([]float64, len(roomy))
	c := s.effort.coverer()
	var out []Unserved
	for i := range s.in.groups {
		if s.known[i] != nil {
			continue
		}
		g := &s.in.groups[i]
		u := Unserved{Group: g.index, Name: p.Groups[g.index].Name, Impossible: hopeless[i]}
		if g.fits(&c, none, roomy) {
			u.Missing = make([]int, len(p.Types))
			for v, n := range c.found {
				o := p.Groups[g.index].Options[g.options[v].index]
				u.Missing[o.Type] += n * o.Units
			}
			for t := range u.Missing {
				u.Missing[t] = max(0, u.Missing[t]-left[t])
			}
		}
		out = append(out, u)
	}
	return out
}

// status says how well the solution is proven.
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

// hopeless marks the groups that are not able.
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

package exact

import "math"

// serveClass finds the least number of groups of class q that must be left out.
func (s *search) serveClass(q int) {
	if s.out(q) <= s.least[q] {
		return
	}
	var groups []*group
	var skips []skip
	room := append([]int(nil), s.in.stock...)
	rows := s.allowances(&room, q)
	for k, i := range s.able {
		if s.class[k] > q {
			break
		}
		groups = append(groups, s.in.groups[i].free())
		rule := rows[s.class[k]]
		if s.class[k] == q {
			rule = skip{allowed: true, cost: 1, row: -1}
		} else {
			rule.cost = 0
		}
		skips = append(skips, rule)
	}
	p := newProgram(groups, skips, room, s.effort)
	p.whole = true
	t := newTree(p, s.columns(p), 0)
	before := t.cost
	t.run()
	s.least[q] = max(s.least[q], int(math.Ceil(t.bound()-1e-6)))
	if t.cost < before {
		s.learn(t.best)
	}
}

// allowances appends a row to the room for every class before end that leaves groups out, and
// returns the skip rule of each class.
func (s *search) allowances(room *[]int, end int) []skip {
	rows := make([]skip, len(s.in.classes))
	for q := range end {
		rows[q].row = -1
		if n := s.out(q); n > 0 {
			rows[q] = skip{allowed: true, row: len(*room)}
			*room = append(*room, n)
		}
	}
	return rows
}

// save is stage 2. It reports whether the cost is proven to the gap.
func (s *search) save(quota int) bool {
	s.effort.begin(quota)
	if len(s.able) == 0 {
		return true
	}
	groups := make([]*group, len(s.able))
	skips := make([]skip, len(s.able))
	room := append([]int(nil), s.in.stock...)
	rows := s.allowances(&room, len(s.in.classes))
	for k, i := range s.able {
		groups[k] = &s.in.groups[i]
		skips[k] = rows[s.class[k]]
		skips[k].cost = groups[k].idle
	}
	p := newProgram(groups, skips, room, s.effort)
	t := newTree(p, s.columns(p), s.gap)
	t.run()
	s.learn(t.best)
	s.bound = t.bound()
	return s.bound >= t.cutoff()
}

// columns returns the known solution as columns of a program over the first groups of able.
func (s *search) columns(p *program) []*column {
	columns := make([]*column, len(p.groups))
	for k := range columns {
		if counts := s.known[s.able[k]]; counts != nil {
			columns[k] = p.with(k, counts)
		} else {
			columns[k] = p.without(k)
		}
	}
	return columns
}

// learn stores the columns of the first groups of able as the known solution; later groups are
// unserved.
func (s *search) learn(columns []*column) {
	for k, i := range s.able {
		s.known[i] = nil
		if k < len(columns) {
			s.known[i] = columns[k].counts
		}
	}
}

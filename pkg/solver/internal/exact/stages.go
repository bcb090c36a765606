package exact

import "math"

// The cost of leaving a group out in stage 1, in cheapest covers of the dearest
// group; and the nodes to try.
const (
	dread    = 10
	patience = 4
)

// serveAll is stage 1.
func (s *search) serveAll() {
	c := s.effort.coverer()
	most := 0.0
	none := make([]float64, len(s.in.stock))
	groups := make([]*group, len(s.able))
	for k, i := range s.able {
		groups[k] = &s.in.groups[i]
		cost, _ := c.solve(groups[k], groups[k].box(), none, s.in.stock, math.Inf(1))
		most = max(most, cost)
	}
	skips := make([]skip, len(s.able))
	for k, g := range groups {
		skips[k] = skip{allowed: true, cost: max(g.idle, dread*most) + 1e-3*most, row: -1}
	}
	p := newProgram(groups, skips, s.in.stock, s.effort)
	t := newTree(p, s.columns(p), s.gap)
	t.patience, t.plain = patience, true
	t.run()
	if s.better(t.best) {
		s.learn(t.best)
	}
	if leftOut(t.best) == 0 {
		s.pool, s.prices = p.pool, t.prices
	}
}

// serveClass finds how few groups of class q must be left out.
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

// allowances appends a row to the room for every class before end that leaves
// groups out, and returns what leaving out means in each.
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

// save is stage 3. It reports whether the cost is proven to the gap.
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
	if s.pool != nil && len(room) == len(s.in.stock) {
		t.prices = s.prices
		for k, columns := range s.pool {
			for _, c := range columns {
				if c.counts != nil {
					p.pool[k] = append(p.pool[k], c)
				}
			}
		}
	}
	t.run()
	s.learn(t.best)
	s.bound = t.bound()
	return s.bound >= t.cutoff()
}

// columns is known as columns of a program over the first groups of able.
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

// better reports whether the columns, one for each group of able, serve more
// groups than known of the first class in which they differ.
func (s *search) better(columns []*column) bool {
	for q := range s.in.classes {
		n := 0
		for k, c := range columns {
			if s.class[k] == q && c.counts == nil {
				n++
			}
		}
		if out := s.out(q); n != out {
			return n < out
		}
	}
	return false
}

// learn makes the columns of the first groups of able known; later ones are
// unserved.
func (s *search) learn(columns []*column) {
	for k, i := range s.able {
		s.known[i] = nil
		if k < len(columns) {
			s.known[i] = columns[k].counts
		}
	}
}

package exact

import (
	"math"
	"slices"
)

// A box narrows the counts of one group in a part of the search tree.
type box struct {
	lo, hi []int
	serve  bool // must be served
	skip   bool // must be left out
}

// A coverer solves the problem of one group, a bounded covering knapsack, at
// given prices of the resources:
//
//	min sum_v cost_v(n_v) + price_r(v) units_v n_v
//	s.t. sum_v capacity_v n_v >= need, lo_v <= n_v <= hi_v,
//	     units_v n_v summed over each resource <= room
//
// by depth-first search over options in the order of their cost per capacity.
// The bound at each node is the knapsack's continuous relaxation over the
// convex envelopes of the remaining options, which is filled greedily. The
// exact bound as a function of the next count is convex, so the search runs
// outwards from its minimum and stops on each side at the first count that
// cannot improve.
//
// Where options hardly differ it tries every mix: millions with six options. With a limit it ends
// after so many counts and returns the best cover found; the lower bound is then the relaxation of
// the whole problem.
type coverer struct {
	store  []level
	levels []*level // of store, in search order
	pieces []piece  // of the envelopes, by ratio
	left   []int    // room by resource above the lower counts, when shared
	shared bool     // two options use one resource

	counts, found []int // by level; by option
	best          float64
	slack         float64 // a bound this much below best is no improvement

	limit, steps int     // most counts to try, 0 for no limit; counts tried
	least        float64 // lower bound of the last call of solve: no cover costs less
}

// coverSteps limits the counts that one problem tries where the work of the search is limited.
// Problems of two or three options need about a hundred.
const coverSteps = 10_000

// cut reports whether the last call of solve ended at its limit.
func (c *coverer) cut() bool { return c.limit > 0 && c.steps >= c.limit }

// A level is one option in search order.
type level struct {
	option *option
	at     int // of the option in its group
	lo, hi int
	price  float64 // of the units of one replica
	lowest int     // where the convex part of the cost begins: 1 with a start cost, else lo
	own    [2]piece
	ratio  float64 // of the first piece of its envelope that costs something

	// Summed over this level and all later ones: cost and capacity of the lower counts and of the
	// pieces that cost nothing or less.
	baseCost, baseCapacity float64
}

// A piece is a stretch of replicas whose costs rise evenly.
type piece struct {
	level           int
	length          int
	ratio, capacity float64 // cost per capacity; of the whole piece
}

// value returns the cost of n replicas of the level, units included.
func (l *level) value(n int) float64 { return l.option.cost(n) + l.price*float64(n) }

// solve returns the cost of the cheapest cover of the group in the box that costs less than below,
// or false if there is none. The counts are in found until the next call.
func (c *coverer) solve(g *group, b *box, prices []float64, room []int, below float64) (float64, bool) {
	c.steps, c.least = 0, below
	if !c.load(g, b, prices, room) {
		return 0, false
	}
	whole := c.relax(0, g.need)
	if whole >= below {
		return 0, false
	}
	c.best, c.slack = below, 0
	c.search(0, g.need, 0)
	if c.least = c.best - c.slack; c.cut() {
		c.least = whole
	}
	return c.best, c.best < below
}

// load prepares levels, envelopes and suffix sums.
func (c *coverer) load(g *group, b *box, prices []float64, room []int) bool {
	n := len(g.options)
	c.store = slices.Grow(c.store[:0], n)[:n]
	c.levels = c.levels[:0]
	c.counts = slices.Grow(c.counts[:0], n)[:n]
	c.found = slices.Grow(c.found[:0], n)[:n]
	c.left = append(c.left[:0], room...)
	c.shared = false
	for v := range g.options {
		o := &g.options[v]
		l := &c.store[v]
		*l = level{option: o, at: v, lo: b.lo[v], hi: b.hi[v]}
		if o.resource >= 0 && o.units > 0 {
			l.price = prices[o.resource] * float64(o.units)
			l.hi = min(l.hi, room[o.resource]/o.units)
			c.left[o.resource] -= l.lo * o.units
			if c.left[o.resource] < 0 {
				return false
			}
			for k := range v {
				c.shared = c.shared || g.options[k].resource == o.resource
			}
		}
		if l.hi < l.lo {
			return false
		}
		l.split()
		c.insert(l)
	}
	c.pieces = c.pieces[:0]
	for i := n - 1; i >= 0; i-- {
		c.envelope(i)
	}
	return true
}

// insert adds the level behind those of no larger ratio. There are only a few.
func (c *coverer) insert(l *level) {
	k := len(c.levels)
	c.levels = append(c.levels, l)
	for ; k > 0 && c.levels[k-1].ratio > l.ratio; k-- {
		c.levels[k] = c.levels[k-1]
	}
	c.levels[k] = l
}

// piece adds the piece before those of no smaller ratio.
func (c *coverer) piece(p piece) {
	k := len(c.pieces)
	c.pieces = append(c.pieces, p)
	for ; k > 0 && c.pieces[k-1].ratio >= p.ratio; k-- {
		c.pieces[k] = c.pieces[k-1]
	}
	c.pieces[k] = p
}

// split finds the pieces of the cost above lowest and the ratio to sort by.
func (l *level) split() {
	o := l.option
	l.lowest = l.lo
	starts := o.start > 0 && o.current == 0 && l.lo == 0 && l.hi > 0
	if starts {
		l.lowest = 1
	}
	turn := min(max(l.lowest, o.current), l.hi)
	l.own[0] = l.stretch(turn-l.lowest, o.run-o.remove+l.price)
	l.own[1] = l.stretch(l.hi-turn, o.run+o.add+l.price)
	switch {
	case starts:
		l.ratio = l.value(l.hi) / (float64(l.hi) * o.capacity)
	case l.own[0].length > 0 && l.own[0].ratio > 0:
		l.ratio = l.own[0].ratio
	default:
		l.ratio = l.own[1].ratio
	}
}

func (l *level) stretch(length int, slope float64) piece {
	return piece{length: length, ratio: slope / l.option.capacity, capacity: float64(length) * l.option.capacity}
}

// envelope adds the pieces of the level's convex envelope and its suffix sums.
func (c *coverer) envelope(i int) {
	l := c.levels[i]
	l.baseCost, l.baseCapacity = l.value(l.lo), float64(l.lo)*l.option.capacity
	if l.lowest > l.lo {
		whole := l.stretch(l.hi, l.ratio*l.option.capacity)
		whole.level = i
		c.piece(whole)
	} else {
		for _, p := range l.own {
			switch {
			case p.length == 0:
			case p.ratio <= 0:
				l.baseCost += p.ratio * p.capacity
				l.baseCapacity += p.capacity
			default:
				p.level = i
				c.piece(p)
			}
		}
	}
	if i+1 < len(c.levels) {
		l.baseCost += c.levels[i+1].baseCost
		l.baseCapacity += c.levels[i+1].baseCapacity
	}
}

// relax returns a lower bound of the cost of covering need with the levels from i on.
func (c *coverer) relax(i int, need float64) float64 {
	cost := 0.0
	if i < len(c.levels) {
		cost = c.levels[i].baseCost
		need -= c.levels[i].baseCapacity
	}
	if need <= 0 {
		return cost
	}
	for k := range c.pieces {
		p := &c.pieces[k]
		switch {
		case p.level < i:
		case need <= p.capacity:
			return cost + need*p.ratio
		default:
			cost += p.ratio * p.capacity
			need -= p.capacity
		}
	}
	return math.Inf(1)
}

// centre returns the count of level i, at least lowest, at which the bound of its convex part is
// least, rounded up.
func (c *coverer) centre(i int, need float64) int {
	l := c.levels[i]
	n := l.lowest
	need -= float64(n) * l.option.capacity
	if i+1 < len(c.levels) {
		need -= c.levels[i+1].baseCapacity
	}
	k := 0
	for _, own := range l.own {
		if own.length > 0 && own.ratio <= 0 {
			n += own.length
			need -= own.capacity
			continue
		}
		for ; k < len(c.pieces) && c.pieces[k].ratio < own.ratio && need > 0; k++ {
			if c.pieces[k].level > i {
				need -= c.pieces[k].capacity
			}
		}
		if need <= 0 {
			return n
		}
		if need < own.capacity {
			return n + min(own.length, int(math.Ceil(need/l.option.capacity)))
		}
		n += own.length
		need -= own.capacity
	}
	return n
}

// search tries the counts of level i and all later ones. The levels before it have the given cost
// and leave need uncovered.
func (c *coverer) search(i int, need, cost float64) {
	if i == len(c.levels) {
		if need <= 0 && cost < c.best {
			c.best = cost
			c.slack = 1e-12 * math.Abs(cost)
			for k, n := range c.counts {
				c.found[c.levels[k].at] = n
			}
		}
		return
	}
	l := c.levels[i]
	hi := l.hi
	if c.shared && l.option.resource >= 0 && l.option.units > 0 {
		hi = min(hi, l.lo+c.left[l.option.resource]/l.option.units)
	}
	centre := min(c.centre(i, need), hi)
	for n := centre; n <= hi && c.try(i, n, need, cost); n++ {
	}
	for n := centre - 1; n >= l.lowest && c.try(i, n, need, cost); n-- {
	}
	if l.lowest > l.lo {
		c.try(i, l.lo, need, cost)
	}
}

// try continues the search with n replicas of level i. It returns false if they cannot improve on
// the best cover or the limit is reached.
func (c *coverer) try(i, n int, need, cost float64) bool {
	if c.cut() {
		return false
	}
	c.steps++
	l := c.levels[i]
	need -= float64(n) * l.option.capacity
	cost += l.value(n)
	if bound := cost + c.relax(i+1, need); bound >= c.best-c.slack {
		return false
	}
	c.counts[i] = n
	if c.shared && l.option.resource >= 0 {
		used := (n - l.lo) * l.option.units
		c.left[l.option.resource] -= used
		c.search(i+1, need, cost)
		c.left[l.option.resource] += used
		return true
	}
	c.search(i+1, need, cost)
	return true
}

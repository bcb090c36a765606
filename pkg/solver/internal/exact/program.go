package exact

// A program asks for one column of every group, such that their sum stays within the capacity of
// every row and costs least. The rows are the resources, then one for every class that may leave
// groups out; the capacity of such a row is their number.
type program struct {
	groups   []*group  // with the costs of this program
	skips    []skip    // by group
	room     []int     // by row: units of stock, groups that may be left out
	capacity []float64 // the same numbers
	whole    bool      // all costs are whole numbers
	effort   *effort
	cover    coverer
	least    float64     // lower bound of the last decide: no decision of the group costs less
	pool     [][]*column // found so far, by group
	open     []*box      // the widest box of every group
	none     []float64   // prices of 0
}

// skip says what leaving a group out means.
type skip struct {
	allowed bool
	cost    float64
	row     int // the row of which it uses one unit, -1 for none
}

// A column is one way to decide a group.
type column struct {
	counts []int // by option, nil if the group is left out; served without options it is empty
	cost   float64
	use    []float64 // by row
}

// newProgram returns a program over these groups, without columns.
func newProgram(groups []*group, skips []skip, room []int, e *effort) *program {
	p := &program{groups: groups, skips: skips, room: room, effort: e, cover: e.coverer(), pool: make([][]*column, len(groups))}
	for _, n := range room {
		p.capacity = append(p.capacity, float64(n))
	}
	p.none = make([]float64, len(p.capacity))
	for i, g := range groups {
		b := g.box()
		b.serve = !skips[i].allowed
		p.open = append(p.open, b)
	}
	return p
}

// A verdict is the decision of a group at some prices.
type verdict int

const (
	nothing verdict = iota // no decision fits into the room at less than the given cost
	leave                  // the group is left out
	serve                  // the group is served with the counts in program.cover
)

// decide returns the cheapest decision of group i in the box and in the room, and its cost, prices
// included. Where none costs less than below it returns nothing and below.
func (p *program) decide(i int, b *box, prices []float64, room []int, below float64) (verdict, float64) {
	is, value := nothing, below
	p.least = below
	if b.skip {
		p.effort.work++
	} else {
		cost, ok := p.cover.solve(p.groups[i], b, prices, room, below)
		p.effort.spend(&p.cover, ok)
		p.least = p.cover.least
		if ok {
			is, value = serve, cost
		}
	}
	if s := p.skips[i]; s.allowed && !b.serve {
		cost, free := s.cost, true
		if s.row >= 0 {
			cost += prices[s.row]
			free = room[s.row] > 0
		}
		if free && cost < value {
			is, value = leave, cost
		}
	}
	p.least = min(p.least, value)
	return is, value
}

// column returns the column of group i after decide returned leave or serve.
func (p *program) column(i int, is verdict) *column {
	if is == leave {
		return p.without(i)
	}
	return p.with(i, p.cover.found)
}

// with returns the column of group i served with a copy of the counts.
func (p *program) with(i int, counts []int) *column {
	c := &column{counts: append(make([]int, 0, len(counts)), counts...), use: make([]float64, len(p.capacity))}
	for v, n := range counts {
		o := &p.groups[i].options[v]
		c.cost += o.cost(n)
		if o.resource >= 0 {
			c.use[o.resource] += float64(n * o.units)
		}
	}
	return c
}

// without returns the column of group i left out.
func (p *program) without(i int) *column {
	c := &column{cost: p.skips[i].cost, use: make([]float64, len(p.capacity))}
	if row := p.skips[i].row; row >= 0 {
		c.use[row] = 1
	}
	return c
}

// in reports whether the column lies in the box.
func (c *column) in(b *box) bool {
	if c.counts == nil {
		return !b.serve
	}
	if b.skip {
		return false
	}
	for v, n := range c.counts {
		if n < b.lo[v] || n > b.hi[v] {
			return false
		}
	}
	return true
}

// at returns the cost of the column at the prices.
func (c *column) at(prices []float64) float64 {
	cost := c.cost
	for r, u := range c.use {
		if u != 0 {
			cost += prices[r] * u
		}
	}
	return cost
}

package exact

import (
	"cmp"
	"math"
	"slices"
)

// An instance is a problem in canonical order: groups by priority and name, options by cost and
// name, resources by name of their type. Equal problems become equal instances, so results do not
// depend on the order of the input.
type instance struct {
	groups  []group
	stock   []int // units by resource
	classes []class
}

// A class is a run of groups of one priority: groups[first:end].
type class struct{ priority, first, end int }

type group struct {
	index   int     // in Problem.Groups
	need    float64 // demand less the tolerance
	options []option
	idle    float64 // cost when unserved, with no replica at all
}

// An option is an Option whose counts are narrowed to the useful ones.
type option struct {
	index    int // in Group.Options
	resource int // index in instance.stock, -1 if its type cannot run out
	units    int
	capacity float64
	lo, hi   int

	current                 int
	run, add, remove, start float64 // costs, see Option
}

// cost returns the cost of n replicas.
func (o *option) cost(n int) float64 {
	return Option{Current: o.current, Cost: o.run, AddCost: o.add, RemoveCost: o.remove, StartCost: o.start}.price(n)
}

// newInstance brings the problem, which is valid, into canonical order.
// Only types that can run out become resources.
func newInstance(p Problem) *instance {
	resource := make([]int, len(p.Types))
	in := &instance{}
	for _, t := range p.scarce() {
		resource[t] = len(in.stock) + 1
		in.stock = append(in.stock, p.Types[t].Stock)
	}
	order := make([]int, len(p.Groups))
	for g := range order {
		order[g] = g
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := p.Groups[a], p.Groups[b]
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.Name, y.Name))
	})
	for at, g := range order {
		priority := p.Groups[g].Priority
		if n := len(in.classes); n == 0 || in.classes[n-1].priority != priority {
			in.classes = append(in.classes, class{priority: priority, first: at})
		}
		in.classes[len(in.classes)-1].end = at + 1
		in.groups = append(in.groups, newGroup(p, g, resource))
	}
	return in
}

// scarce returns the types that the problem can use up, by name.
func (p Problem) scarce() []int {
	most := make([]float64, len(p.Types))
	for _, g := range p.Groups {
		for _, o := range g.Options {
			most[o.Type] += float64(o.useful(g.Demand)) * float64(o.Units)
		}
	}
	var types []int
	for t, typ := range p.Types {
		if most[t] > float64(limit(typ.Stock)) {
			types = append(types, t)
		}
	}
	slices.SortFunc(types, func(a, b int) int { return cmp.Compare(p.Types[a].Name, p.Types[b].Name) })
	return types
}

// useful returns the largest count that can be part of a cheapest cover: enough to cover the demand
// alone, or the current replicas where removing them costs more than keeping them.
func (o Option) useful(demand float64) int {
	n := max(int(math.Ceil(demand*(1-coverTolerance)/o.Capacity)), o.Min)
	if o.RemoveCost > o.Cost {
		n = max(n, o.Current)
	}
	return min(n, limit(o.Max))
}

func newGroup(p Problem, index int, resource []int) group {
	from := p.Groups[index]
	g := group{index: index, need: from.Demand * (1 - coverTolerance)}
	for v, o := range from.Options {
		g.options = append(g.options, option{
			index: v, resource: resource[o.Type] - 1, units: o.Units, capacity: o.Capacity,
			lo: o.Min, hi: o.useful(from.Demand), current: o.Current,
			run: o.Cost, add: o.AddCost, remove: o.RemoveCost, start: o.StartCost,
		})
	}
	slices.SortFunc(g.options, func(a, b option) int {
		x, y := from.Options[a.index], from.Options[b.index]
		return cmp.Or(cmp.Compare(x.Cost, y.Cost), cmp.Compare(x.Name, y.Name))
	})
	for v := range g.options {
		g.idle += g.options[v].cost(0)
	}
	return g
}

// box returns the box of all counts of the group.
func (g *group) box() *box {
	b := &box{lo: make([]int, len(g.options)), hi: make([]int, len(g.options))}
	for v, o := range g.options {
		b.lo[v], b.hi[v] = o.lo, o.hi
	}
	return b
}

// fits reports whether the room is enough for the group.
func (g *group) fits(c *coverer, prices []float64, room []int) bool {
	_, ok := c.solve(g, g.box(), prices, room, math.Inf(1))
	return ok
}

// free returns a copy of the group in which replicas cost nothing.
func (g *group) free() *group {
	f := *g
	f.idle = 0
	f.options = append([]option(nil), g.options...)
	for v := range f.options {
		o := &f.options[v]
		o.run, o.add, o.remove, o.start = 0, 0, 0, 0
	}
	return &f
}

// take subtracts the units of the counts from the room by resource.
func (g *group) take(room, counts []int) {
	for v, n := range counts {
		if o := &g.options[v]; o.resource >= 0 {
			room[o.resource] -= n * o.units
		}
	}
}

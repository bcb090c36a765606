package exact

import (
	"container/heap"
	"math"
)

// settled is the relative difference that counts as zero: a part of the tree is closed when its
// bound is this near to the best cost.
const settled = 1e-8

// A tree searches a program by branch and bound, the node with the lowest bound first. A dual
// bounds each node. A node is split on the count (or the service) of the group on which its
// relaxation is most divided.
type tree struct {
	p      *program
	dual   *dual
	gap    float64 // relative, or in groups for a program of whole costs
	queue  nodes
	born   int
	closed float64 // the least bound of the nodes closed without a split

	best   []*column // the best solution
	cost   float64
	pack   *packing
	prices []float64 // of the root; a first guess until the root is bounded
	root   float64   // its bound
	most   int       // nodes to try, 0 for no limit
	plain  bool      // do not call mend

	searched, turn int // calls of search; parts mended without success
}

// A node is a part of the search space that is still open.
type node struct {
	boxes  []*box
	bound  float64
	prices []float64
	mu     float64
	born   int // order of birth, for ties
}

type nodes []*node

func (q nodes) Len() int      { return len(q) }
func (q nodes) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *nodes) Push(x any)   { *q = append(*q, x.(*node)) }
func (q *nodes) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (q nodes) Less(i, j int) bool {
	if q[i].bound != q[j].bound {
		return q[i].bound < q[j].bound
	}
	return q[i].born > q[j].born
}

// newTree returns a tree with the known solution start. Its cost gives the ceiling of the prices.
func newTree(p *program, start []*column, gap float64) *tree {
	t := &tree{p: p, gap: gap, closed: math.Inf(1), best: start, pack: newPacking(p), root: math.Inf(-1)}
	for _, c := range start {
		t.cost += c.cost
	}
	t.dual = newDual(p, min(1, t.cost)+2*t.cost)
	return t
}

// bound returns a proven lower bound of the cost of all solutions of the program.
func (t *tree) bound() float64 {
	bound := min(t.closed, t.cost)
	for _, n := range t.queue {
		bound = min(bound, n.bound)
	}
	return bound
}

// round raises a bound to the next possible cost.
func (t *tree) round(bound float64) float64 {
	if t.p.whole {
		return math.Ceil(bound - 1e-6)
	}
	return bound
}

// cutoff returns the bound at which a part of the tree is closed.
func (t *tree) cutoff() float64 {
	if t.p.whole {
		return t.cost - max(t.gap, 1-1e-6)
	}
	return t.cost - max(t.gap, settled)*math.Abs(t.cost)
}

// run searches until everything is closed or the effort is spent.
func (t *tree) run() {
	if t.trivial() {
		return
	}
	rows := len(t.p.capacity)
	root := &node{boxes: t.p.open, bound: t.closed, prices: t.prices, mu: t.cost / float64(len(t.p.groups)+rows)}
	if len(root.prices) != rows {
		root.prices = make([]float64, rows)
		for r, n := range t.p.capacity {
			root.prices[r] = 0.1 * t.cost / (1 + n) / float64(rows)
		}
	}
	t.closed = math.Inf(1)
	heap.Push(&t.queue, root)
	for tried := 0; len(t.queue) > 0 && !t.p.effort.over(); tried++ {
		if t.queue[0].bound >= t.cutoff() || t.most > 0 && tried >= t.most {
			return
		}
		t.expand(heap.Pop(&t.queue).(*node))
	}
}

// trivial solves all groups at prices of 0. A result that fits is the optimum; otherwise it gives a
// first bound, in closed.
func (t *tree) trivial() bool {
	t.p.effort.iterations++
	t.closed = 0
	t.pack.empty()
	fits := true
	for i := range t.p.groups {
		is, _ := t.p.decide(i, t.p.open[i], t.p.none, t.p.room, math.Inf(1))
		t.closed += t.p.least
		c := t.p.column(i, is)
		t.p.pool[i] = append(t.p.pool[i], c)
		if fits = fits && t.pack.fits(c); fits {
			t.pack.put(i, c)
		}
	}
	if fits {
		t.keep()
	}
	t.root = t.closed
	return t.closed >= t.cutoff()
}

// keep makes the packing the best solution if it costs less, and reports whether it does.
func (t *tree) keep() bool {
	cost := t.pack.cost()
	if cost >= t.cost {
		return false
	}
	t.cost = cost
	t.best = append([]*column(nil), t.pack.columns...)
	return true
}

// expand bounds the node, looks for solutions near it and splits it.
func (t *tree) expand(n *node) {
	t.p.effort.nodes++
	a := aim{cutoff: t.cutoff(), tolerance: max(0.05*(t.cost-t.cutoff()), 0.1*settled*t.cost)}
	r := t.dual.solve(n.boxes, n.prices, n.mu, a)
	bound := max(n.bound, t.round(r.bound))
	if n.born == 0 {
		t.prices, t.root = r.prices, bound
	}
	if bound >= t.cutoff() {
		t.closed = min(t.closed, bound)
		return
	}
	s, ok := t.choose(n.boxes)
	if !ok {
		t.leaf()
		return
	}
	t.search()
	if bound >= t.cutoff() {
		t.closed = min(t.closed, bound)
		return
	}
	for _, side := range []bool{false, true} {
		t.born++
		child := &node{
			boxes: append([]*box(nil), n.boxes...), bound: bound,
			prices: r.prices, mu: max(r.mu, 1e-3*n.mu), born: t.born,
		}
		child.boxes[s.group] = s.side(n.boxes[s.group], side)
		heap.Push(&t.queue, child)
	}
}

// leaf tries the one remaining column of each group. If they do not fit, the node holds no
// solution.
func (t *tree) leaf() {
	t.pack.empty()
	for i, columns := range t.dual.active {
		if !t.pack.fits(columns[0]) {
			return
		}
		t.pack.put(i, columns[0])
	}
	t.keep()
}

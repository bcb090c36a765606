package exact

import "math"

// A dual finds the prices of the rows at which the groups, each decided on its own, prove the best
// bound
//
//	L(prices) = sum_g min over columns (cost + prices*use) - prices*capacity
//
// on every solution in the boxes. It maximises a smoothed form of the function over the columns
// known so far: the minimum becomes a softmin of temperature mu, the limits 0 <= price <= ceiling
// become logarithmic barriers of weight mu. Newton's method maximises the smooth function (it has
// as many variables as there are rows, a handful). Then all groups are solved at these prices,
// which gives a proven bound and new columns, and mu is reduced. The weights of the softmin are the
// primal solution of the relaxation.
type dual struct {
	p       *program
	ceiling float64

	active  [][]*column // columns in the boxes, by group
	weights [][]float64 // of the active columns; they sum to 1 in each group
	prices  []float64
	plain   float64 // value of the function over the active columns at prices, not smoothed

	gradient, hessian, factor, step, mean, trial []float64
}

// relaxed is the outcome of dual.solve.
type relaxed struct {
	bound    float64   // proven; +Inf if nothing is in the boxes
	estimate float64   // upper bound of the best possible bound
	prices   []float64 // the prices that prove the bound
	mu       float64
}

// maxRounds is the largest number of price vectors that one relaxation tries.
const maxRounds = 80

func newDual(p *program, ceiling float64) *dual {
	rows := len(p.capacity)
	return &dual{
		p: p, ceiling: ceiling,
		active: make([][]*column, len(p.groups)), weights: make([][]float64, len(p.groups)),
		gradient: make([]float64, rows), hessian: make([]float64, rows*rows), factor: make([]float64, rows*rows),
		step: make([]float64, rows), mean: make([]float64, rows), trial: make([]float64, rows),
	}
}

// aim says when a relaxation is good enough.
type aim struct {
	cutoff    float64 // a bound of at least this closes the node
	tolerance float64 // accepted distance to the best possible bound
}

// reached reports whether the relaxation is good enough.
func (a aim) reached(r relaxed) bool {
	return r.bound >= a.cutoff || r.estimate-r.bound <= max(a.tolerance, near*(a.cutoff-r.bound))
}

// cooling returns the factor of mu after a round with fresh new columns.
func cooling(fresh int) float64 {
	if fresh == 0 {
		return 0.1
	}
	return 0.4
}

// solve bounds the cost of all solutions in the boxes, starting with these prices and mu.
func (d *dual) solve(boxes []*box, prices []float64, mu float64, a aim) relaxed {
	d.restrict(boxes)
	d.prices = append(d.prices[:0], prices...)
	out := relaxed{bound: math.Inf(-1), estimate: math.Inf(1), mu: mu}
	least := a.tolerance / (3 * float64(len(d.active)+2*len(d.prices)))
	smooth := false // prices maximise the smoothed function
	for range maxRounds {
		bound, fresh := d.separate(boxes)
		d.p.effort.iterations++
		if bound > out.bound {
			out.bound, out.prices = bound, append([]float64(nil), d.prices...)
		}
		if smooth {
			out.estimate = max(d.plain+mu*d.entropy(), out.bound)
		}
		if a.reached(out) || smooth && fresh == 0 && mu <= least || d.p.effort.over() {
			break
		}
		if smooth {
			mu = max(mu*cooling(fresh), least)
		}
		smooth, mu = d.follow(mu)
		out.mu = mu
	}
	if !smooth && out.bound < a.cutoff {
		d.centre(mu)
	}
	return out
}

// near is the share of the distance to the cutoff that branching has to close.
const near = 0.05

// restrict makes the columns in the boxes active.
func (d *dual) restrict(boxes []*box) {
	for i, b := range boxes {
		if b == d.p.open[i] {
			d.active[i] = d.p.pool[i]
			continue
		}
		d.active[i] = nil
		for _, c := range d.p.pool[i] {
			if c.in(b) {
				d.active[i] = append(d.active[i], c)
			}
		}
	}
}

// separate solves all groups at the present prices. It returns the proven bound and the number of
// columns that became active.
func (d *dual) separate(boxes []*box) (bound float64, fresh int) {
	d.plain = 0
	for r, price := range d.prices {
		bound -= price * d.p.capacity[r]
	}
	d.plain = bound
	for i, b := range boxes {
		known := math.Inf(1)
		for _, c := range d.active[i] {
			known = min(known, c.at(d.prices))
		}
		below := known
		if !math.IsInf(known, 1) {
			below -= 1e-11 * max(math.Abs(known), 1e-3*d.ceiling)
		}
		is, value := d.p.decide(i, b, d.prices, d.p.room, below)
		bound += d.p.least
		d.plain += known
		if is != nothing {
			fresh++
			d.add(i, b, d.p.column(i, is))
		} else if math.IsInf(value, 1) {
			return value, fresh
		}
	}
	return bound, fresh
}

func (d *dual) add(i int, b *box, c *column) {
	d.p.pool[i] = append(d.p.pool[i], c)
	d.weights[i] = append(d.weights[i], 0)
	if b == d.p.open[i] {
		d.active[i] = d.p.pool[i]
	} else {
		d.active[i] = append(d.active[i], c)
	}
}

// entropy returns the most by which smoothing lowers the maximum, in units of mu.
func (d *dual) entropy() float64 {
	sum := 2 * float64(len(d.prices))
	for _, columns := range d.active {
		sum += math.Log(float64(len(columns)))
	}
	return sum
}

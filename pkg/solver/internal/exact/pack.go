package exact

import (
	"cmp"
	"math"
	"slices"
)

// A packing is one column of every group and the room that they leave. It serves to build and
// improve solutions.
type packing struct {
	p       *program
	columns []*column // nil while a group has none
	room    []int     // left by row, never negative
	weighed []float64 // scratch: prices scaled
}

func newPacking(p *program) *packing {
	k := &packing{p: p, columns: make([]*column, len(p.groups)), weighed: make([]float64, len(p.capacity))}
	k.room = append(k.room, p.room...)
	return k
}

// empty removes all columns.
func (k *packing) empty() {
	clear(k.columns)
	copy(k.room, k.p.room)
}

// load replaces the columns by those of a whole solution.
func (k *packing) load(columns []*column) {
	k.empty()
	for i, c := range columns {
		k.put(i, c)
	}
}

// cost returns the cost of all columns.
func (k *packing) cost() float64 {
	cost := 0.0
	for _, c := range k.columns {
		cost += c.cost
	}
	return cost
}

func (k *packing) fits(c *column) bool {
	for r, u := range c.use {
		if int(u) > k.room[r] {
			return false
		}
	}
	return true
}

func (k *packing) put(i int, c *column) {
	k.columns[i] = c
	for r, u := range c.use {
		k.room[r] -= int(u)
	}
}

func (k *packing) release(i int) *column {
	c := k.columns[i]
	k.columns[i] = nil
	for r, u := range c.use {
		k.room[r] += int(u)
	}
	return c
}

// place gives group i the column that costs least at the prices in the room that is left, and
// reports whether there is one.
func (k *packing) place(i int, prices []float64) bool {
	is, _ := k.p.decide(i, k.p.open[i], prices, k.room, math.Inf(1))
	if is == nothing {
		return false
	}
	k.put(i, k.p.column(i, is))
	return true
}

// fill builds a new packing: first the groups whose weights clearly favour one column, then the
// others, each at the prices in the room that is left. For a group that does not fit it moves
// another one. It returns false if that fails too.
func (k *packing) fill(prices []float64, weights [][]float64, active [][]*column) bool {
	k.empty()
	order := make([]int, len(k.columns))
	favour := make([]int, len(k.columns))
	for i := range order {
		order[i], favour[i] = i, -1
		for c, w := range weights[i] {
			if favour[i] < 0 || w > weights[i][favour[i]] {
				favour[i] = c
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return -cmp.Compare(weights[a][favour[a]], weights[b][favour[b]])
	})
	for _, i := range order {
		if c := active[i][favour[i]]; weights[i][favour[i]] > 0.5 && k.fits(c) {
			k.put(i, c)
		} else if !k.place(i, prices) && !k.eject(i, prices) {
			return false
		}
	}
	return true
}

// eject places group i by moving one placed group, such that both cost least at the prices. It
// returns false if no move makes room.
func (k *packing) eject(i int, prices []float64) bool {
	best := math.Inf(1)
	var mine, other *column
	moved := -1
	for h, held := range k.columns {
		if held == nil || k.p.effort.over() {
			continue
		}
		k.release(h)
		if k.place(i, prices) {
			if k.place(h, prices) {
				if cost := k.columns[i].at(prices) + k.columns[h].at(prices) - held.at(prices); cost < best {
					best, moved, mine, other = cost, h, k.columns[i], k.columns[h]
				}
				k.release(h)
			}
			k.release(i)
		}
		k.put(h, held)
	}
	if moved < 0 {
		return false
	}
	k.release(moved)
	k.put(i, mine)
	k.put(moved, other)
	return true
}

// relocate decides each group again in the room that the others leave, as long as that lowers the
// cost at the prices.
func (k *packing) relocate(prices []float64) {
	for again := true; again && !k.p.effort.over(); {
		again = false
		for i := range k.columns {
			old := k.release(i)
			was := old.at(prices)
			if is, _ := k.p.decide(i, k.p.open[i], prices, k.room, was-1e-9*math.Abs(was)); is != nothing {
				old = k.p.column(i, is)
				again = true
			}
			k.put(i, old)
		}
	}
}

// polish relocates at falling shares of the prices: high shares make room, low ones save cost.
func (k *packing) polish(prices []float64) {
	for _, share := range []float64{1, 0.3, 0.03, 0} {
		for r, price := range prices {
			k.weighed[r] = share * price
		}
		k.relocate(k.weighed)
	}
}

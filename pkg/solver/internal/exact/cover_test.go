package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// cheapest is the obvious way to solve the problem of one group.
func cheapest(g *group, b *box, prices []float64, room []int) float64 {
	best := math.Inf(1)
	left := append([]int(nil), room...)
	var next func(v int, need, cost float64)
	next = func(v int, need, cost float64) {
		if v == len(g.options) {
			if need <= 0 {
				best = min(best, cost)
			}
			return
		}
		o := &g.options[v]
		for n := b.lo[v]; n <= b.hi[v] && n*o.units <= left[o.resource]; n++ {
			left[o.resource] -= n * o.units
			next(v+1, need-float64(n)*o.capacity, cost+o.cost(n)+prices[o.resource]*float64(n*o.units))
			left[o.resource] += n * o.units
		}
	}
	next(0, g.need, 0)
	return best
}

// TestALimitedCovererBoundsTheCheapestCover: six options that hardly differ have millions of
// mixes, of which none may be left out by its bound.
func TestALimitedCovererBoundsTheCheapestCover(t *testing.T) {
	g := &group{need: 100}
	for v := range 6 {
		g.options = append(g.options, option{resource: 0, units: 1, capacity: 1.7 + 0.01*float64(v), hi: 60, run: 1 + 0.001*float64(v)})
	}
	c := coverer{limit: coverSteps}
	cost, ok := c.solve(g, g.box(), []float64{0}, []int{400}, math.Inf(1))
	if least := 100 / 1.75; !ok || !c.cut() || c.steps > coverSteps || cost < least || cost > 1.05*least || c.least > cost {
		t.Errorf("a cover of %v (%t), none below %v, after %d counts", cost, ok, c.least, c.steps)
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		g := &group{need: 20 * r.Float64()}
		for range 2 + r.IntN(3) {
			g.options = append(g.options, option{resource: 0, units: 1 + r.IntN(2), capacity: 0.5 + r.Float64(), hi: 8, run: 0.5 + r.Float64()})
		}
		room := []int{r.IntN(30)}
		want := cheapest(g, g.box(), []float64{0}, room)
		c := coverer{limit: 1 + r.IntN(30)}
		got, ok := c.solve(g, g.box(), []float64{0}, room, math.Inf(1))
		if ok && got < want-tolerance || c.least > want+tolerance || !ok && !c.cut() && !math.IsInf(want, 1) {
			t.Fatalf("seed %d: got %v (found %t, cut %t), none below %v; the cheapest costs %v", seed, got, ok, c.cut(), c.least, want)
		}
	}
}

func TestCovererAgreesWithEnumeration(t *testing.T) {
	var c coverer
	for seed := range scaled(20000) {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		room := []int{r.IntN(20), r.IntN(20)}
		prices := []float64{float64(r.IntN(8)) / 4, float64(r.IntN(8)) / 4}
		g := &group{need: float64(r.IntN(60)) / 4}
		for range 1 + r.IntN(4) {
			o := option{
				resource: r.IntN(2), units: 1 + r.IntN(3), capacity: float64(1+r.IntN(16)) / 4, hi: r.IntN(6),
				run: float64(r.IntN(12)) / 2, add: float64(r.IntN(4)) / 2,
			}
			if r.IntN(2) == 0 {
				o.current, o.remove = r.IntN(5), float64(r.IntN(24))/2
			} else {
				o.start = float64(r.IntN(16)) / 2
			}
			o.lo = min(o.hi, r.IntN(4)/2)
			g.options = append(g.options, o)
		}
		want := cheapest(g, g.box(), prices, room)
		got, ok := c.solve(g, g.box(), prices, room, math.Inf(1))
		if ok == math.IsInf(want, 1) || ok && math.Abs(got-want) > tolerance {
			t.Fatalf("seed %d: got %v (found %v), want %v for %+v with room %v at %v", seed, got, ok, want, g, room, prices)
		}
		if _, ok := c.solve(g, g.box(), prices, room, want); ok {
			t.Fatalf("seed %d: found a cover below the cheapest, which costs %v", seed, want)
		}
	}
}

package clairvoyant

import "math"

// ladder sums up prices by their size, so that the cheapest can be added up
// without keeping each. Its zero value is empty.
type ladder struct {
	free  uint64 // prices of 0, or too small to tell from it
	rungs []rung
}

type rung struct {
	count uint64
	sum   float64
}

const (
	rungsPerOctave = 64 // a rung is 1.1 % wide
	smallest       = 0x1p-60
	octaves        = 120
)

// add adds a price >= 0. One beyond the largest rung counts as it.
func (l *ladder) add(price float64) {
	if l.rungs == nil {
		l.rungs = make([]rung, octaves*rungsPerOctave)
	}
	if price < smallest {
		l.free++
		return
	}
	i := min(int(math.Log2(price/smallest)*rungsPerOctave), len(l.rungs)-1)
	l.rungs[i].count++
	l.rungs[i].sum += price
}

// cheapest returns at most the sum of the n lowest prices, and by less than a
// rung of one price less. n beyond the count is the count.
func (l *ladder) cheapest(n uint64) float64 {
	sum := 0.0
	n -= min(n, l.free)
	for i, r := range l.rungs {
		if n < r.count {
			// The lower edge, and a little for the rounding of the logarithm.
			return sum + float64(n)*smallest*math.Exp2(float64(i)/rungsPerOctave)*(1-slack)
		}
		sum += r.sum
		n -= r.count
	}
	return sum
}

package exact

import "math"

// A split divides the box of one group in two.
type split struct {
	group  int
	option int // -1 separates served from left out
	at     int // counts up to at go below, the others above
}

// side returns one half of the box. The upper half has more replicas, or leaves the group out.
func (s split) side(b *box, upper bool) *box {
	half := &box{lo: append([]int(nil), b.lo...), hi: append([]int(nil), b.hi...), serve: b.serve, skip: b.skip}
	switch {
	case s.option < 0 && upper:
		half.skip = true
	case s.option < 0:
		half.serve = true
	case upper:
		half.lo[s.option] = s.at + 1
	default:
		half.hi[s.option] = s.at
	}
	return half
}

// choose returns the split on which the weights of the relaxation are most divided. If they are
// divided nowhere, it splits the first box that holds more than one decision. It returns false if
// none does.
func (t *tree) choose(boxes []*box) (split, bool) {
	best, found := split{}, false
	score := 1e-6
	for i := range boxes {
		columns, weights := t.dual.active[i], t.dual.weights[i]
		if len(columns) < 2 {
			continue
		}
		out := 0.0
		for k, c := range columns {
			if c.counts == nil {
				out += weights[k]
			}
		}
		if s := 2 * min(out, 1-out); s > score {
			score, best, found = s, split{group: i, option: -1}, true
		}
		if out > 1-1e-6 {
			continue
		}
		for v := range t.p.groups[i].options {
			at, s := divide(columns, weights, v, out)
			if s > score*(1+1e-9) {
				score, best, found = s, split{group: i, option: v, at: at}, true
			}
		}
	}
	if found {
		return best, true
	}
	return t.any(boxes)
}

// divide splits the counts of option v at their weighted mean. The score is the smaller weight of
// the two sides.
func divide(columns []*column, weights []float64, v int, out float64) (at int, score float64) {
	mean, low, high := 0.0, math.MaxInt, 0
	for k, c := range columns {
		if c.counts != nil && weights[k] > 1e-9 {
			mean += weights[k] * float64(c.counts[v])
			low, high = min(low, c.counts[v]), max(high, c.counts[v])
		}
	}
	if low >= high {
		return 0, 0
	}
	at = min(max(int(mean/(1-out)), low), high-1)
	below := 0.0
	for k, c := range columns {
		if c.counts != nil && c.counts[v] <= at {
			below += weights[k]
		}
	}
	return at, min(below, 1-out-below)
}

// any splits around the heaviest column of the first group that is not decided.
func (t *tree) any(boxes []*box) (split, bool) {
	for i, b := range boxes {
		if !b.serve && !b.skip && t.p.skips[i].allowed {
			return split{group: i, option: -1}, true
		}
		if b.skip {
			continue
		}
		c, heaviest := t.dual.active[i][0], 0.0
		for k, w := range t.dual.weights[i] {
			if w > heaviest {
				c, heaviest = t.dual.active[i][k], w
			}
		}
		for v := range b.lo {
			if b.lo[v] < b.hi[v] {
				return split{group: i, option: v, at: min(c.counts[v], b.hi[v]-1)}, true
			}
		}
	}
	return split{}, false
}

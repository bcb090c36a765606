package exact

import (
	"cmp"
	"math"
	"slices"
)

// search looks for solutions near the relaxation that was solved last.
func (t *tree) search() {
	if t.p.effort.over() {
		return
	}
	better := t.build(t.dual.prices)
	t.searched++
	if (better || t.searched%mendEvery == 1) && !t.plain && len(t.best) > 2*mendGroups {
		t.mend()
	}
}

// build makes a solution from the relaxation that was solved last or, if that does not fit,
// improves the best one at its prices. It reports whether the result is a new best solution.
func (t *tree) build(prices []float64) bool {
	if !t.pack.fill(prices, t.dual.weights, t.dual.active) {
		t.pack.load(t.best)
	}
	t.pack.polish(prices)
	return t.keep()
}

// A mend solves a part of the groups again in the room that the best solution leaves them.
// mendGroups and mendNodes limit one part, and mendParts the parts without improvement in one mend.
const (
	mendGroups = 12
	mendNodes  = 24
	mendParts  = 6
	mendEvery  = 4 // nodes
)

// mend improves the best solution part by part. Half of each part are the groups whose columns cost
// most above their best at the prices of the root; the other half take turns.
func (t *tree) mend() {
	for failed := 0; failed < mendParts && t.root < t.cutoff() && !t.p.effort.over(); {
		if !t.mendPart(t.choosePart()) {
			failed++
			t.turn++
		}
	}
}

// choosePart chooses the groups of the present turn.
func (t *tree) choosePart() []int {
	order := make([]int, len(t.best))
	regret := make([]float64, len(t.best))
	for i, c := range t.best {
		order[i] = i
		least := math.Inf(1)
		for _, other := range t.p.pool[i] {
			least = min(least, other.at(t.prices))
		}
		regret[i] = c.at(t.prices) - least
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmp.Compare(regret[a], regret[b]) })
	// All others take turns beside the first half, then beside the next, and so on.
	const half = mendGroups / 2
	n := len(order)
	turns := (n - 1) / half
	first, other := t.turn/turns*half, t.turn%turns
	part := make([]int, 0, mendGroups)
	for k := range mendGroups {
		at := first + k
		if k >= half {
			at += other * half
		}
		part = append(part, order[at%n])
	}
	slices.Sort(part)
	return slices.Compact(part)
}

// mendPart solves these groups again, and reports whether that gives a new best solution.
func (t *tree) mendPart(part []int) bool {
	t.pack.load(t.best)
	groups := make([]*group, len(part))
	skips := make([]skip, len(part))
	start := make([]*column, len(part))
	for k, i := range part {
		groups[k], skips[k], start[k] = t.p.groups[i], t.p.skips[i], t.pack.release(i)
	}
	p := newProgram(groups, skips, t.pack.room, t.p.effort)
	p.whole = t.p.whole
	for k, i := range part {
		for _, c := range t.p.pool[i] {
			if t.pack.fits(c) {
				p.pool[k] = append(p.pool[k], c)
			}
		}
	}
	sub := newTree(p, start, 0)
	sub.plain, sub.most, sub.prices = true, mendNodes, t.prices
	before := sub.cost
	sub.run()
	if sub.cost >= before {
		return false
	}
	for k, i := range part {
		t.pack.put(i, sub.best[k])
	}
	return t.keep()
}

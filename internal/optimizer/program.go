package optimizer

import (
	"cmp"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// program is a small integer program: how many replicas of each variant carry
// every demand at the least cost. Variants are in the order in which ties are
// broken.
//
//	minimize    sum cost[v] n[v]
//	subject to  sum carries[r][v] n[v] >= needs[r]   for every row r
//	            sum n[v] >= total
//	            least[v] <= n[v] <= most[v]
type program struct {
	cost        []float64 // of a replica, >= 0
	least, most []scaling.Replicas
	carries     [][]float64 // by row, then variant; >= 0
	needs       []float64   // by row
	total       scaling.Replicas
}

// short reports whether the variants cannot carry all of every demand.
func (p program) short() bool {
	return slices.ContainsFunc(p.needs, func(part float64) bool { return part < 1-rounding })
}

// nodeLimit ends the search. It counts steps instead of time, so that the answer is the
// same on every machine; four variants with a hundred replicas need a part of it.
const nodeLimit = 200_000

// solve returns the replicas of each variant: the cheapest solution, among those the one
// with fewest replicas, among those the one with most of the first variants. Where the
// search reaches its limit, solve returns the best solution found. It reports false where
// no choice carries every demand.
func (p program) solve() ([]scaling.Replicas, bool) {
	s := search{program: p, nodes: nodeLimit, n: slices.Clone(p.least), residual: slices.Clone(p.needs), missing: p.total}
	for r := range s.residual {
		for v, n := range p.least {
			s.residual[r] -= p.carries[r][v] * float64(n)
		}
	}
	for v, n := range p.least {
		s.missing -= n
		s.spent += p.cost[v] * float64(n)
		s.replicas += n
	}
	if s.begin(); s.best == nil {
		return nil, false
	}
	s.from(0)
	return s.best, true
}

// search is a branch and bound over the variants in order, most replicas first.
type search struct {
	program
	n        []scaling.Replicas
	residual []float64        // still to be carried, by row
	missing  scaling.Replicas // replicas still to be added
	spent    float64
	replicas scaling.Replicas
	nodes    int

	best         []scaling.Replicas
	bestCost     float64
	bestReplicas scaling.Replicas
}

// slack prevents a rounding error from requiring one more replica.
const slack = 1e-9

// done reports whether every demand is carried.
func (s *search) done() bool {
	return s.missing <= 0 && !slices.ContainsFunc(s.residual, func(r float64) bool { return r > slack })
}

// from chooses the replicas of variant v and of all later variants.
func (s *search) from(v int) {
	s.nodes--
	if s.done() {
		s.keep()
		return
	}
	if v == len(s.cost) || s.hopeless(v) {
		return
	}
	for extra := s.useful(v); extra >= 0 && s.nodes > 0; extra-- {
		s.add(v, extra)
		s.from(v + 1)
		s.add(v, -extra)
	}
}

// add adds extra replicas of v, or removes them where extra is negative.
func (s *search) add(v int, extra scaling.Replicas) {
	s.n[v] += extra
	s.missing -= extra
	s.replicas += extra
	s.spent += s.cost[v] * float64(extra)
	for r := range s.residual {
		s.residual[r] -= s.carries[r][v] * float64(extra)
	}
}

// useful returns how many replicas of v make sense: as many as carry the whole residual
// alone.
func (s *search) useful(v int) scaling.Replicas {
	most, use := s.most[v]-s.n[v], max(0, s.missing)
	for r, left := range s.residual {
		if left > slack && s.carries[r][v] > 0 {
			use = max(use, ceil(left/s.carries[r][v]))
		}
	}
	return min(most, use)
}

// hopeless reports whether variants v and later cannot lead to a better solution than the
// best one found: each row costs at least the price of its most efficient variant.
func (s *search) hopeless(v int) bool {
	leastCost, leastReplicas := 0.0, max(0, s.missing)
	for r, left := range s.residual {
		if left <= slack {
			continue
		}
		price, part, reach := math.Inf(1), 0.0, 0.0
		for w := v; w < len(s.n); w++ {
			if c := s.carries[r][w]; c > 0 && s.most[w] > s.n[w] {
				price = min(price, s.cost[w]/c)
				part = max(part, c)
				reach += c * float64(s.most[w]-s.n[w])
			}
		}
		if reach < left-slack {
			return true
		}
		leastCost = max(leastCost, left*price)
		leastReplicas = max(leastReplicas, ceil(left/part))
	}
	bound := s.spent + leastCost
	tie := slack * max(1, s.bestCost)
	return bound > s.bestCost+tie || bound > s.bestCost-tie && s.replicas+leastReplicas > s.bestReplicas
}

// keep stores the present choice where it is better than the best one.
func (s *search) keep() {
	tie := slack * max(1, s.bestCost)
	better := s.best == nil || s.spent < s.bestCost-tie || s.spent <= s.bestCost+tie &&
		(s.replicas < s.bestReplicas || s.replicas == s.bestReplicas && slices.Compare(s.n, s.best) > 0)
	if better {
		s.best, s.bestCost, s.bestReplicas = slices.Clone(s.n), s.spent, s.replicas
	}
}

// begin finds first solutions, if there are any: one variant after the other carries the
// residual, the most efficient first, once with each variant at the head.
func (s *search) begin() {
	order := make([]int, len(s.cost))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.price(a), s.price(b)) })
	for _, head := range order {
		s.fill(append([]int{head}, order...))
	}
}

// price returns the cost of v per part of the residual that one replica carries, summed up over the
// rows.
func (s *search) price(v int) float64 {
	part := 0.0
	for r, left := range s.residual {
		if left > slack {
			part += min(1, s.carries[r][v]/left)
		}
	}
	return s.cost[v] / part // +Inf, or NaN, which sorts first and is harmless: fill adds none
}

// fill tries one choice and undoes it.
func (s *search) fill(order []int) {
	added := make([]scaling.Replicas, len(s.n))
	for _, v := range order {
		if extra := s.useful(v); extra > 0 {
			s.add(v, extra)
			added[v] += extra
		}
	}
	if s.done() {
		s.keep()
	}
	for v, extra := range added {
		s.add(v, -extra)
	}
}

// ceil rounds up to at most replicasAtMost, with a tolerance for rounding errors.
func ceil(x float64) scaling.Replicas {
	return scaling.Replicas(min(math.Ceil(x-slack*max(1, x)), replicasAtMost))
}

// replicasAtMost is more than any variant has: an estimate that asks for more is wrong.
const replicasAtMost = 10_000

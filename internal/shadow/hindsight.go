package shadow

import (
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// searched bounds how many mixes of variants are tried for one cycle.
const searched = 4096

// cheapest returns the replicas, within the bounds of the variants, with the least cost per hour
// plus price for each request of an hour that they are expected to miss. The demand must be known.
//
// It tries all mixes of all variants but the one that carries the demand most cheaply, whose
// replicas follow from the rest. Where these are more than searched, it tries variants in the order
// of their cost for what they carry, as far as searched allows; the others stay at their minimum.
func (l ModelCycle) cheapest(price float64) []scaling.Replicas {
	best := make([]scaling.Replicas, len(l.Variants))
	for i, v := range l.Variants {
		best[i] = v.Bounds.Clamp(0)
	}
	if l.Demand.Value <= 0 {
		return best
	}
	order := l.byPrice()
	if len(order) == 0 {
		return best
	}
	s := search{ModelCycle: l, perMissed: price * l.Rate.Or(0) * 3600, best: best, lowest: math.Inf(1)}
	s.lowest = s.total(best)
	mixes := 1.0
	free := order[:1]
	for _, i := range order[1:] {
		if mixes *= float64(s.enough(i) + 1); mixes > searched {
			break
		}
		free = append(free, i)
	}
	s.try(slices.Clone(best), free)
	return s.best
}

// byPrice returns the variants that carry load and can have more than their minimum, in the order
// of their cost for what they carry.
func (l ModelCycle) byPrice() []int {
	var order []int
	for i, v := range l.Variants {
		if v.Carries > 0 && v.Bounds.Max > v.Bounds.Clamp(0) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := l.Variants[a], l.Variants[b]
		switch d := x.Cost/x.Carries - y.Cost/y.Carries; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	return order
}

// search finds the cheapest replicas of a ModelCycle.
type search struct {
	ModelCycle
	perMissed float64 // cost per hour of the misses where all requests miss
	best      []scaling.Replicas
	lowest    float64
}

// enough returns the largest useful number of replicas of a variant beyond its minimum.
func (s *search) enough(i int) scaling.Replicas {
	v := s.Variants[i]
	return min(v.Bounds.Max-v.Bounds.Clamp(0), scaling.Replicas(math.Ceil(s.Demand.Value/v.Carries)))
}

// try tries all numbers of the free variants but the first. Of the first it tries those that may be
// best: as many as carry the rest of the demand, one fewer, and its minimum.
func (s *search) try(replicas []scaling.Replicas, free []int) {
	if len(free) > 1 {
		last := free[len(free)-1]
		least := replicas[last]
		for n := least; n <= least+s.enough(last); n++ {
			replicas[last] = n
			s.try(replicas, free[:len(free)-1])
		}
		replicas[last] = least
		return
	}
	first := free[0]
	v := s.Variants[first]
	least := replicas[first]
	supply := 0.0
	for i, n := range replicas {
		supply += s.Variants[i].Carries * float64(n)
	}
	missing := scaling.Replicas(math.Ceil((s.Demand.Value - supply) / v.Carries))
	for _, n := range []scaling.Replicas{least, least + missing - 1, least + missing} {
		replicas[first] = max(least, min(n, v.Bounds.Max))
		if cost := s.total(replicas); cost < s.lowest {
			s.lowest, s.best = cost, slices.Clone(replicas)
		}
	}
	replicas[first] = least
}

// total returns the cost of replicas and of their misses per hour.
func (s *search) total(replicas []scaling.Replicas) float64 {
	part, _ := s.carried(replicas)
	return costOf(s.ModelCycle, replicas) + s.perMissed*(1-part)
}

package exact

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// randomProblem is small enough for brute force: up to 5 groups of up to 4
// options with few counts each, on up to 3 types.
func randomProblem(r *rand.Rand) Problem {
	var p Problem
	for t := range 1 + r.IntN(3) {
		stock := r.IntN(20)
		if r.IntN(6) == 0 {
			stock = Unlimited
		}
		p.Types = append(p.Types, Type{Name: "t" + strconv.Itoa(t), Stock: stock})
	}
	switching := r.IntN(2) == 0
	for i := range 1 + r.IntN(5) {
		g := Group{Name: "g" + strconv.Itoa(i), Priority: 1 + r.IntN(3), Demand: float64(r.IntN(60)) / 4}
		for v := range 1 + r.IntN(4) {
			o := Option{
				Name: "v" + strconv.Itoa(v), Type: r.IntN(len(p.Types)), Units: 1 + r.IntN(3),
				Capacity: float64(1+r.IntN(24)) / 4, Cost: float64(r.IntN(20)) / 2, Max: 1 + r.IntN(4),
			}
			if r.IntN(4) == 0 {
				o.Min = r.IntN(min(2, o.Max) + 1)
			}
			if switching {
				o.Current = r.IntN(4)
				o.AddCost = float64(r.IntN(6)) / 4
				o.RemoveCost = float64(r.IntN(24)) / 4
				o.StartCost = float64(r.IntN(3))
			}
			g.Options = append(g.Options, o)
		}
		p.Groups = append(p.Groups, g)
	}
	return p
}

// mix is a way to decide one group: served with counts, or not.
type mix struct {
	served bool
	cost   float64
	use    []int
}

func mixes(p Problem, g Group) []mix {
	counts := make([]int, len(g.Options))
	idle := mix{use: make([]int, len(p.Types))}
	for _, o := range g.Options {
		idle.cost += o.price(0)
	}
	all := []mix{idle}
	var next func(v int)
	next = func(v int) {
		if v < len(counts) {
			for n := g.Options[v].Min; n <= g.Options[v].Max; n++ {
				counts[v] = n
				next(v + 1)
			}
			return
		}
		if !g.serves(counts) {
			return
		}
		m := mix{served: true, use: make([]int, len(p.Types))}
		for i, n := range counts {
			m.cost += g.Options[i].price(n)
			m.use[g.Options[i].Type] += n * g.Options[i].Units
		}
		for t, u := range m.use {
			if u > limit(p.Types[t].Stock) {
				return
			}
		}
		// A mix that uses no less of anything and costs no less than another
		// is of no use.
		for _, other := range all {
			if other.served && other.cost <= m.cost && dominates(other.use, m.use) {
				return
			}
		}
		all = append(all, m)
	}
	next(0)
	return all
}

func dominates(a, b []int) bool {
	for i := range a {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// bruteForce tries everything. It returns the groups served by class and the
// cost.
func bruteForce(p Problem) (served []int, cost float64) {
	priorities := []int{}
	for _, g := range p.Groups {
		priorities = append(priorities, g.Priority)
	}
	slices.Sort(priorities)
	priorities = slices.Compact(priorities)
	all := make([][]mix, len(p.Groups))
	for i, g := range p.Groups {
		all[i] = mixes(p, g)
	}
	left := p.leftover(make([][]int, len(p.Groups)))
	now := make([]int, len(priorities))
	cost = math.Inf(1)
	var next func(i int, sum float64)
	next = func(i int, sum float64) {
		if i == len(all) {
			if c := slices.Compare(now, served); c > 0 || c == 0 && sum < cost {
				served, cost = slices.Clone(now), sum
			}
			return
		}
		q, _ := slices.BinarySearchFunc(priorities, p.Groups[i].Priority, cmp.Compare[int])
		for _, m := range all[i] {
			if !dominates(m.use, left) {
				continue
			}
			for t, u := range m.use {
				left[t] -= u
			}
			if m.served {
				now[q]++
			}
			next(i+1, sum+m.cost)
			if m.served {
				now[q]--
			}
			for t, u := range m.use {
				left[t] += u
			}
		}
	}
	next(0, 0)
	return served, cost
}

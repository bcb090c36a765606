package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// named is the result of a policy in a scenario.
type named struct {
	lab.Point
	policy string // with its settings
}

// score has the results of one scenario.
type score struct {
	number      int
	text        string // description of the scenario
	target      float64
	constant    bool
	own         map[string]result // ours, by name
	before      *lab.Point        // the first of ours with another build
	untuned     []named           // the others as published
	tuned       []named           // the others, tuned on the first part
	clairvoyant *lab.Point
}

// reaches reports whether a point attains the target.
func (s score) reaches(p lab.Point) bool { return p.Attainment >= s.target }

// best returns the cheapest of the policies that reach the target, and false where none does.
func (s score) best(of []named) (named, bool) {
	reach := slices.DeleteFunc(slices.Clone(of), func(n named) bool { return !s.reaches(n.Point) })
	if len(reach) == 0 {
		return named{}, false
	}
	return slices.MinFunc(reach, func(a, b named) int { return cmp.Compare(a.Cost, b.Cost) }), true
}

// dearer is how many times our cost another policy may cost where attainments are compared.
const dearer = 1.2

// ahead returns the policy with the highest attainment of those that cost no more than 1.2 times as
// much as ours, and false where there is none.
func (s score) ahead(of []named, ours lab.Point) (named, bool) {
	near := slices.DeleteFunc(slices.Clone(of), func(n named) bool { return n.Cost > dearer*ours.Cost })
	if len(near) == 0 {
		return named{}, false
	}
	return slices.MaxFunc(near, func(a, b named) int { return cmp.Compare(a.Attainment, b.Attainment) }), true
}

// lag is how far a policy of ours is behind in a scenario: 0 where no untuned policy of others does
// better.
type lag struct {
	score
	ours   lab.Point
	size   float64 // the worst are sorted by it
	reason named   // the policy that does better
}

// lagOf compares a policy of ours with the untuned policies of others. To miss a target that
// another reaches, or to attain much less for the same cost, counts more than a higher cost.
func (s score) lagOf(own string) (lag, bool) {
	r, ok := s.own[own]
	if !ok {
		return lag{}, false
	}
	l := lag{score: s, ours: r.point()}
	grow := func(by float64, why named) {
		if by > l.size {
			l.size, l.reason = by, why
		}
	}
	best, some := s.best(s.untuned)
	switch {
	case some && s.reaches(l.ours):
		grow(l.ours.Cost/max(best.Cost, 1e-9)-1, best)
	case some:
		grow(1+10*(s.target-l.ours.Attainment), best)
	}
	if near, some := s.ahead(s.untuned, l.ours); some && !s.reaches(l.ours) {
		grow(10*(near.Attainment-l.ours.Attainment), near)
	}
	return l, true
}

// distribution is the values of several scenarios.
type distribution []float64

// add adds a value.
func (d *distribution) add(v float64) { *d = append(*d, v) }

// at returns a quantile, NaN where there are no values.
func (d distribution) at(q float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(d))
	n := int(math.Ceil(q*float64(len(sorted)) - 1e-9)) // of the values are no greater
	return sorted[max(0, n-1)]
}

// mean returns the mean, NaN where there are no values.
func (d distribution) mean() float64 {
	sum := 0.0
	for _, v := range d {
		sum += v
	}
	return sum / float64(len(d))
}

// verdict sums up a policy of ours over the scenarios.
type verdict struct {
	ran, reached     int
	winnable, won    int          // an untuned policy of others reaches the target; and ours does
	untuned          distribution // cost over that of the cheapest untuned that reaches, where ours does
	tuned            distribution // the same of the tuned
	clairvoyant      distribution
	attained         distribution
	behind           distribution // attainment of the best untuned at no more than 1.2 times the cost, less ours
	farBehind        int          // of these by ten points or more
	constant, turned int          // scenarios of constant load, and those with more than one turn in six hours
	turns            int          // the most of one of these
}

// far is the difference of attainment, as a ratio, from which a policy of ours is far behind.
const far = 0.1

// judge sums up the results of a policy of ours.
func judge(all []score, own string) verdict {
	var v verdict
	for _, s := range all {
		r, ok := s.own[own]
		if !ok {
			continue
		}
		v.ran++
		v.attained.add(r.Attainment)
		if s.constant {
			v.constant++
			v.turns = max(v.turns, r.Turns)
			if r.Turns > 1 {
				v.turned++
			}
		}
		if near, some := s.ahead(s.untuned, r.point()); some {
			v.behind.add(near.Attainment - r.Attainment)
			if near.Attainment-r.Attainment >= far {
				v.farBehind++
			}
		}
		v.compare(s, r.point())
	}
	return v
}

// compare adds our cost relative to the others, where both reach the target.
func (v *verdict) compare(s score, ours lab.Point) {
	best, winnable := s.best(s.untuned)
	if winnable {
		v.winnable++
	}
	if !s.reaches(ours) {
		return
	}
	v.reached++
	if winnable {
		v.won++
		v.untuned.add(ours.Cost / max(best.Cost, 1e-9))
	}
	if best, some := s.best(s.tuned); some {
		v.tuned.add(ours.Cost / max(best.Cost, 1e-9))
	}
	if c := s.clairvoyant; c != nil && s.reaches(*c) {
		v.clairvoyant.add(ours.Cost / max(c.Cost, 1e-9))
	}
}

// beside returns how much more a policy of ours attains than another in the mean, and the mean of
// its cost over the other's, in the scenarios of both.
func beside(all []score, own, other string) (points, cost float64) {
	var more, times distribution
	for _, s := range all {
		a, ok := s.own[own]
		b, also := s.own[other]
		if ok && also {
			more.add(a.Attainment - b.Attainment)
			times.add(a.Cost / max(b.Cost, 1e-9))
		}
	}
	return more.mean(), times.mean()
}

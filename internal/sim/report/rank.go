package report

import (
	"cmp"
	"slices"
)

// drawnOf is how many policies of this project, and how many of the others, have lines at first.
const drawnOf = 2

// ranked returns the policies in the order of the list: those that reach the wanted attainment, by
// cost; the others with an attainment, by attainment; then those without.
func ranked(policies []Result, o Objectives) []Result {
	return slices.SortedFunc(slices.Values(policies), func(a, b Result) int {
		return cmp.Or(
			cmp.Compare(o.outcome(a), o.outcome(b)),
			o.preference(a, b),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// outcome says whether a policy reached the attainment. The script in the page uses the numbers.
type outcome int

const (
	meets outcome = iota
	misses
	unknown
)

func (o Objectives) outcome(p Result) outcome {
	switch m := p.Measures; {
	case !m.Attainment.Known() || !m.Cost.Known() || p.Unfinished != "":
		return unknown
	case m.Attainment.Mean >= o.Attainment:
		return meets
	default:
		return misses
	}
}

// preference compares two policies with the same outcome.
func (o Objectives) preference(a, b Result) int {
	switch o.outcome(a) {
	case meets:
		return cmp.Compare(a.Measures.Cost.Mean, b.Measures.Cost.Mean)
	case misses:
		return cmp.Or(
			cmp.Compare(b.Measures.Attainment.Mean, a.Measures.Attainment.Mean),
			cmp.Compare(a.Measures.Cost.Mean, b.Measures.Cost.Mean),
		)
	case unknown:
	}
	return 0
}

// drawn reports for each ranked policy whether its lines are drawn at first: the best two of this
// project and the best two others.
func drawn(ranked []Result) []bool {
	left := map[bool]int{true: drawnOf, false: drawnOf}
	out := make([]bool, len(ranked))
	for i, p := range ranked {
		if left[p.Own] > 0 && len(p.Samples) > 0 {
			left[p.Own]--
			out[i] = true
		}
	}
	return out
}

package lab

import (
	"math"
	"slices"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fixed is the policy without a grid: no list of counts suits both a trace that needs two replicas
// and one that needs thirty, so a search finds the least count that suffices.
const fixed = "static"

// searched reports whether tuning c is a search of counts.
func (c Choice) searched() bool { return c.Name == fixed && len(c.Params) == 0 }

// most returns the largest number of replicas that a search tries: twice the need of the busiest
// ten minutes of the first part, in the cheapest variant of the model that needs most; 16 at least,
// within the bounds.
func (f fitted) most() scaling.Replicas {
	const least, twice = 16, 2
	bound, need := scaling.Replicas(1), 0.0
	for _, m := range f.Models {
		v := m.cheapest()
		bound = max(bound, v.Spec.Bounds.Max)
		if can := f.measured[v.Spec.Key].Rate; can > 0 {
			need = max(need, f.survey.Peak*m.Share/f.shares()/can)
		}
	}
	return min(bound, max(least, scaling.Replicas(math.Ceil(twice*need))))
}

// bisection searches for the least count, of 1 to most, that attains a target.
type bisection struct {
	low, high scaling.Replicas // low misses the target, or is 0; high attains it, or is above most
	most      scaling.Replicas
}

// next returns the count to try next, false if the search is over.
func (b bisection) next() (scaling.Replicas, bool) {
	if b.high > b.most && b.low < b.most && b.low >= b.most/2 {
		return b.most, true // perhaps no count attains the target
	}
	n := (b.low + b.high) / 2
	return n, n > b.low && n < b.high && n <= b.most
}

// learn books whether n attains the target.
func (b *bisection) learn(n scaling.Replicas, attains bool) {
	if attains {
		b.high = min(b.high, n)
	} else {
		b.low = max(b.low, n)
	}
}

// count returns the parameters of static with n replicas.
func count(n scaling.Replicas) map[string]string {
	return map[string]string{"replicas": strconv.Itoa(int(n))}
}

// counts returns the next numbers of replicas to try after some trials: one that halves the range
// for the first part, and one for the rest; none when both searches are over.
func counts(trials []Trial, target float64, most scaling.Replicas) []scaling.Replicas {
	first, rest := bisection{high: most + 1, most: most}, bisection{high: most + 1, most: most}
	tried := map[scaling.Replicas]bool{}
	for _, t := range trials {
		parsed, _ := strconv.Atoi(t.Params["replicas"])
		n := scaling.Replicas(parsed)
		tried[n] = true
		first.learn(n, t.First.Attainment >= target)
		rest.learn(n, t.Rest.Attainment >= target)
	}
	var out []scaling.Replicas
	for _, b := range []bisection{first, rest} {
		if n, ok := b.next(); ok && !tried[n] && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

package lab

import (
	"math"
	"slices"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fixed is the policy without a grid: no list of counts suits a trace that needs two
// replicas and one that needs thirty, so the least that does is searched.
const fixed = "static"

// searched reports whether a choice is tuned by searching counts.
func (c Choice) searched() bool { return c.Name == fixed && len(c.Params) == 0 }

// most returns the largest number of replicas of a model that a search tries: twice
// what the busiest ten minutes of the first part need of the cheapest variant of the
// model that needs most, 16 at least, within the bounds.
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

// bisection looks for the least count that attains a target, of 1 to most.
type bisection struct {
	low, high scaling.Replicas // low does not attain it, or is 0; high does, or is above most
	most      scaling.Replicas
}

// next returns the count to try next, false if none is left that matters.
func (b bisection) next() (scaling.Replicas, bool) {
	if b.high > b.most && b.low < b.most && b.low >= b.most/2 {
		return b.most, true // perhaps none attains it
	}
	n := (b.low + b.high) / 2
	return n, n > b.low && n < b.high && n <= b.most
}

// learn notes whether a count attains the target.
func (b *bisection) learn(n scaling.Replicas, attains bool) {
	if attains {
		b.high = min(b.high, n)
	} else {
		b.low = max(b.low, n)
	}
}

// count is the parameter of a number of replicas.
func count(n scaling.Replicas) map[string]string {
	return map[string]string{"replicas": strconv.Itoa(int(n))}
}

// counts returns the next numbers of replicas to try after some trials: those that
// halve what is left for the first part, and for the rest; none when both are found.
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

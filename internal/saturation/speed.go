package saturation

import (
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inProportion returns what replicas of the variants of snap hold in proportion to the
// requests/s that they complete when they hold it, such that the replicas that report
// hold together what they held before: a request that is computed twice as fast is held
// for half as long, so that of replicas that are equally full the faster one carries more
// than what it holds tells. Where a rate is not known of a variant that reports, what is
// held is all that is known.
func inProportion(variants []scaling.Variant, samples []scaling.ReplicaSample, holds, rates []float64) []float64 {
	reports := map[scaling.VariantKey]float64{}
	for _, s := range samples {
		if s.Reports() {
			reports[s.Variant]++
		}
	}
	held, completed := 0.0, 0.0
	for i, v := range variants {
		n := reports[v.Key]
		if n > 0 && rates[i] <= 0 {
			return holds
		}
		held, completed = held+n*holds[i], completed+n*rates[i]
	}
	if len(holds) < 2 || held <= 0 || completed <= 0 {
		return holds
	}
	out := slices.Clone(holds)
	for i, rate := range rates {
		if hold := rate * held / completed; rate > 0 && math.Abs(hold-holds[i]) > least*holds[i] {
			out[i] = hold
		}
	}
	return out
}

// completes is how many requests/s a replica of v completes that holds so many tokens of
// the requests of a load, by its profile; 0 where that is not known.
func completes(v scaling.Variant, l scaling.Load, tokens float64) float64 {
	input, output := l.InputTokens.Or(0), l.OutputTokens.Or(0)
	if tokens <= 0 || output <= 0 || !v.Profile.Usable() {
		return 0
	}
	n := tokens / (input + output/2)
	if most := float64(v.MaxBatch()); most > 0 {
		n = min(n, most)
	}
	return rate(v.Profile, n, input*(1-min(1, l.PrefixHits.Or(0))), output)
}

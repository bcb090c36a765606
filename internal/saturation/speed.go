package saturation

import (
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inProportion scales what replicas of the variants hold in proportion to the requests/s that they
// complete while they hold it. The replicas that report hold the same sum as before. A request that
// is computed twice as fast is held for half as long: of equally full replicas the faster one
// carries more than its share of the held requests. Where the rate of a variant that reports is
// unknown, inProportion returns holds.
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

// completes returns the requests/s that a replica of v completes by its profile while it holds so
// many tokens of requests of l; 0 where that is unknown.
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

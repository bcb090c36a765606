package sim

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The upper ends of the buckets of vLLM's time_to_first_token_seconds and
// inter_token_latency_seconds [ms] (vllm/v1/metrics/loggers.py).
func ttftBounds() []float64 {
	return []float64{
		1, 5, 10, 20, 40, 60, 80, 100, 250, 500, 750, 1000, 2500, 5000, 7500,
		10_000, 20_000, 40_000, 80_000, 160_000, 640_000, 2_560_000,
	}
}

func itlBounds() []float64 {
	return []float64{
		10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 2500, 5000, 7500,
		10_000, 20_000, 40_000, 80_000,
	}
}

// buckets counts the observations of each bucket, not cumulated. The last one has no upper bound.
type buckets [23]float64

// distribution is the histogram of a pod, or the sum of several.
type distribution struct {
	bounds []float64 // ms, shared and not modified
	counts buckets
}

// add counts n observations of a value [ms].
func (d *distribution) add(ms, n float64) {
	at, _ := slices.BinarySearch(d.bounds, ms)
	d.counts[at] += n
}

// histogram returns d, whose counts are per second, with cumulated buckets, as a metrics store
// answers it. It has no buckets if state is below Aging.
func (d *distribution) histogram(state scaling.Freshness) scaling.Histogram {
	h := scaling.Histogram{State: state}
	if state < scaling.Aging {
		return h
	}
	for i, bound := range d.bounds {
		h.Total += d.counts[i]
		h.Buckets = append(h.Buckets, scaling.Bucket{Bound: bound, Rate: h.Total})
	}
	h.Total += d.counts[len(d.bounds)]
	return h
}

package emulator

import (
	"slices"
	"sort"
)

// histogram counts observations in buckets with inclusive upper bounds.
type histogram struct {
	bounds []float64 // ascending, without +Inf; shared, never changed
	counts []uint64  // per bucket, not cumulative; one more than bounds
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
}

func (h *histogram) clone() histogram {
	return histogram{bounds: h.bounds, counts: slices.Clone(h.counts), sum: h.sum}
}

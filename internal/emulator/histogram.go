package emulator

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
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
	i, _ := slices.BinarySearch(h.bounds, v) // the first bound that is not below v
	h.counts[i]++
	h.sum += v
}

// expose writes the histogram on a page.
func (h *histogram) expose(page *exposition.Page, name, labels string) {
	atMost := make([]float64, len(h.counts))
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		atMost[i] = float64(total)
	}
	page.Histogram(name, labels, h.bounds, atMost, h.sum)
}

// add adds the observations of other, which has the same bounds.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.sum += other.sum
}

func (h *histogram) clone() histogram {
	return histogram{bounds: h.bounds, counts: slices.Clone(h.counts), sum: h.sum}
}

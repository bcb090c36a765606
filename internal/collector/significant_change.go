package collector

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// The amounts below which a difference is small, whatever its ratio: requests that wait or run, and
// requests per second.
const (
	fewRequests = 5
	slowArrival = 1
)

// movedSince returns how far the readings of a model have moved since an earlier answer: the
// largest ratio by which any of them changed, from 0 for equal ones to 1 for a number or a replica
// that came or went. KV cache usage, a ratio itself, counts by its difference.
func (s *modelAnswer) movedSince(before *modelAnswer) float64 {
	if len(s.pods) != len(before.pods) {
		return 1
	}
	usage := func(s *modelAnswer) float64 {
		return s.total(query.KVCacheUsagePeak) / float64(max(len(s.pods), 1))
	}
	moved := part(usage(s), usage(before), 1)
	for _, q := range []query.Quantity{query.QueueLengthPeak, query.Running} {
		moved = max(moved, part(s.total(q), before.total(q), fewRequests))
	}
	moved = max(moved, part(*s.flows.of(query.Completions), *before.flows.of(query.Completions), slowArrival))
	moved = max(moved, part(s.picker.arrivals, before.picker.arrivals, slowArrival))
	return max(moved, part(s.picker.queue, before.picker.queue, fewRequests))
}

// total returns the sum of a number over the pods that have it.
func (s *modelAnswer) total(q query.Quantity) float64 {
	var sum float64
	for i := range s.pods {
		if v := *s.pods[i].gauge(q); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// part returns the difference of two numbers relative to the larger, or to least if that is larger
// still.
func part(a, b, least float64) float64 {
	switch {
	case math.IsNaN(a) && math.IsNaN(b) || a == b:
		return 0
	case math.IsNaN(a) || math.IsNaN(b) || a == garbage || b == garbage:
		return 1
	default:
		return math.Abs(a-b) / max(a, b, least)
	}
}

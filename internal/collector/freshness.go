package collector

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Limits are the ages at which a page stops being Fresh and stops being Aging.
type Limits struct {
	Fresh time.Duration // younger is Fresh, > 0
	Aging time.Duration // younger is Aging, else Stale; >= Fresh
}

// DefaultLimits returns the least limits, as documented for users: 1m and 5m.
func DefaultLimits() Limits { return Limits{Fresh: time.Minute, Aging: 5 * time.Minute} }

// For returns l raised for pages that are scraped every interval (0 while
// unknown) and answers that are kept for cacheTTL: a page is Fresh for two
// intervals and the TTL, so that one missed scrape changes nothing, and Aging
// for twice as long.
func (l Limits) For(interval, cacheTTL time.Duration) Limits {
	fresh := max(l.Fresh, 2*interval+cacheTTL)
	return Limits{Fresh: fresh, Aging: max(l.Aging, 2*fresh)}
}

// measurable returns v, or NaN where no quantity can take that value.
func measurable(v float64) float64 {
	if !scaling.Measured(v, scaling.Fresh).Known() {
		return math.NaN()
	}
	return v
}

// larger returns the larger of two numbers, or the only one where the other is NaN.
func larger(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	default:
		return max(a, b)
	}
}

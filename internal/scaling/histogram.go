package scaling

import "math"

// Histogram is a distribution of latencies as a store keeps it: how often per
// second an observation was at or below each bound. The zero value is Absent.
type Histogram struct {
	State   Freshness `json:"state"`
	Buckets []Bucket  `json:"buckets,omitempty"` // finite bounds, ascending and distinct
	Total   float64   `json:"total,omitempty"`   // observations/s, the bucket without a bound
}

// Bucket is one bucket of a Histogram.
type Bucket struct {
	Bound float64 `json:"bound"` // ms
	Rate  float64 `json:"rate"`  // observations/s at or below Bound
}

// Side says on which side of an Estimate the true quantile lies.
type Side uint8

// The sides.
const (
	// Around: between two bounds, interpolated.
	Around Side = iota
	// AtMost: in the first bucket, of which only the upper end is known. The value is interpolated
	// from 0, which is a guess; the bucket's bound is not.
	AtMost
	// AtLeast: beyond the last bound, which is the value.
	AtLeast
)

// Estimate is a quantile read off a Histogram.
type Estimate struct {
	Value float64 // ms
	Side  Side
}

// Quantile returns the value below which the part q of the observations lies,
// for q in (0, 1), and false where there is nothing to say: the Histogram is not
// known, has no bound or no observation, or q is out of range.
//
// It follows histogram_quantile of PromQL: linear within a bucket, from 0 within
// the first, the last bound beyond it, and buckets that decrease (as sums over
// different layouts do) raised to their predecessor.
func (h Histogram) Quantile(q float64) (Estimate, bool) {
	n := len(h.Buckets)
	if h.State < Aging || n == 0 || !(q > 0 && q < 1) {
		return Estimate{}, false
	}
	total := h.Total
	for _, b := range h.Buckets {
		total = max(total, b.Rate)
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return Estimate{}, false
	}
	rank, start, below, side := q*total, 0.0, 0.0, AtMost
	for _, b := range h.Buckets {
		reached := max(below, b.Rate)
		if reached >= rank {
			return Estimate{Value: start + (b.Bound-start)*(rank-below)/(reached-below), Side: side}, true
		}
		start, below, side = b.Bound, reached, Around
	}
	return Estimate{Value: h.Buckets[n-1].Bound, Side: AtLeast}, true
}

// fewestAbove is the least part of the observations that Above assumes above the end of a bucket.
const fewestAbove = 0.001

// Above returns the part of the observations above ms, 0 for ms <= 0, and false while unknown.
// Within a bucket, that part falls exponentially, as the tail of a distribution does, to the part
// above the bucket's end or, if that is less, to one in a thousand.
func (h Histogram) Above(ms float64) (float64, bool) {
	if ms <= 0 {
		return 0, true
	}
	total := h.Total
	for _, b := range h.Buckets {
		total = max(total, b.Rate)
	}
	if h.State < Aging || len(h.Buckets) == 0 || !(total > 0) || math.IsInf(total, 0) {
		return 0, false
	}
	start, above := 0.0, 1.0
	for _, b := range h.Buckets {
		end := min(above, 1-b.Rate/total)
		if ms <= b.Bound {
			if part := (ms - start) / (b.Bound - start); part < 1 && above > fewestAbove {
				return above * math.Pow(max(end, fewestAbove)/above, part), true
			}
			return max(0, end), true
		}
		start, above = b.Bound, max(0, end)
	}
	return above, true
}

// Component is a part of the observations, of one kind: those of one variant.
type Component struct {
	Part  float64 // > 0; its ratio to the sum of all is the part of the observations
	Mean  float64 // ms, > 0; its ratio to the means of the others counts
	Least float64 // ms, the least value
}

// AboveWithin is Above for observations with a known mean [ms] and known components. If nearly all
// observations are in one bucket, its bounds say little about their distribution within it. The
// part above falls as that of an Erlang distribution of two stages, for each component with its
// mean m, so scaled that all have the given mean, and its least value l, at most nearMean m:
//
//	(1 + t) e^-t,  t = 2 (ms - l) / (m - l)
//
// AboveWithin returns the sum of that over the components in the first bucket, which has no lower
// bound, and elsewhere the geometric mean of that and of Above.
func (h Histogram) AboveWithin(ms float64, mean Reading, of []Component) (float64, bool) {
	part, known := h.Above(ms)
	if !known || mean.State != Fresh || !(mean.Value > 0) {
		return part, known
	}
	of = scaled(of, mean.Value)
	tail, least := 0.0, of[0].Least
	for _, c := range of {
		tail += c.Part * c.above(ms)
		least = min(least, c.Least)
	}
	if ms <= max(0, least) {
		return part, known
	}
	start, above := 0.0, 1.0
	for _, b := range h.Buckets {
		end, _ := h.Above(b.Bound)
		if ms < b.Bound {
			if above-end >= nearlyAll && mean.Value > start && mean.Value < b.Bound {
				if start == 0 {
					part = tail
				}
				return min(above, math.Sqrt(max(end, fewestAbove, part)*max(end, fewestAbove, tail))), true
			}
			break
		}
		start, above = b.Bound, end
	}
	return part, known
}

// above returns the part of the component above ms, by an Erlang distribution of two stages.
func (c Component) above(ms float64) float64 {
	if ms <= c.Least {
		return 1
	}
	t := 2 * (ms - c.Least) / (c.Mean - c.Least)
	return (1 + t) * math.Exp(-t)
}

// scaled returns the components with parts that sum up to 1 and with the given mean; one component
// with least value 0 where there is none.
func scaled(of []Component, mean float64) []Component {
	parts, sum := 0.0, 0.0
	for _, c := range of {
		parts += c.Part
		sum += c.Part * c.Mean
	}
	if !(parts > 0 && sum > 0) {
		return []Component{{Part: 1, Mean: mean}}
	}
	out := make([]Component, len(of))
	for i, c := range of {
		m := c.Mean * mean * parts / sum
		out[i] = Component{Part: c.Part / parts, Mean: m, Least: min(c.Least, nearMean*m)}
	}
	return out
}

// nearMean is the largest ratio of the least value to the mean. A mean below the least value of a
// profile, or next to it, says that all observations are about alike.
const nearMean = 0.98

// nearlyAll is the part of the observations from which on a bucket holds nearly all.
const nearlyAll = 0.9

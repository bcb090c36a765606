package sim

import "math"

// Layout of a Sketch: the bounds of the buckets grow by a factor of 1.02, so that the middle of a
// bucket is within 1 % of all its values, from a microsecond to 12 days.
const (
	sketchLeast   = 1e-3 // ms
	sketchFactor  = 1.02
	sketchBuckets = 1400 // 1e-3 * 1.02^1400 = 1.1e9 ms
)

// Sketch is a distribution of latencies in fixed memory, as DDSketch (Masson,
// Rim and Lee, VLDB 2019) with a fixed range. Its zero value is empty.
type Sketch struct {
	counts  [sketchBuckets]uint32
	n       uint64
	sum     float64 // ms
	highest float64 // ms
}

// Add counts one value in ms. A value below a microsecond counts as a microsecond, one above the
// range as the end of the range.
func (s *Sketch) Add(ms float64) {
	s.counts[sketchBucket(ms)]++
	s.n++
	s.sum += ms
	s.highest = max(s.highest, ms)
}

func sketchBucket(ms float64) int {
	if !(ms > sketchLeast) {
		return 0
	}
	return min(int(math.Log(ms/sketchLeast)/math.Log(sketchFactor))+1, sketchBuckets-1)
}

// Merge adds the counts of o.
func (s *Sketch) Merge(o *Sketch) {
	for i, n := range o.counts {
		s.counts[i] += n
	}
	s.n += o.n
	s.sum += o.sum
	s.highest = max(s.highest, o.highest)
}

// Reset empties the sketch.
func (s *Sketch) Reset() {
	if s.n > 0 {
		*s = Sketch{}
	}
}

// Quantile returns the value in ms below which the share q, in [0, 1], of all values lies, within 1
// %; 0 for an empty sketch.
func (s *Sketch) Quantile(q float64) float64 {
	if s.n == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(s.n))))
	var seen uint64
	for i, n := range s.counts {
		if seen += uint64(n); seen >= rank {
			return min(sketchValue(i), s.highest)
		}
	}
	return s.highest
}

// sketchValue returns the geometric middle of a bucket, in ms.
func sketchValue(i int) float64 {
	if i == 0 {
		return sketchLeast
	}
	return sketchLeast * math.Pow(sketchFactor, float64(i)-0.5)
}

// Latency summarizes a distribution, in ms. All fields are 0 where nothing was counted.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Summary returns the mean, the usual quantiles and the largest value.
func (s *Sketch) Summary() Latency {
	if s.n == 0 {
		return Latency{}
	}
	return Latency{
		Mean: s.sum / float64(s.n),
		P50:  s.Quantile(0.5), P90: s.Quantile(0.9), P95: s.Quantile(0.95), P99: s.Quantile(0.99),
		Max: s.highest,
	}
}

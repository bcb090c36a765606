package loadgen

import (
	"math"
	"math/rand/v2"
	"slices"
)

// sampleBound is the number of values that a sample keeps: 1 MiB.
const sampleBound = 1 << 17

// Distribution summarizes one quantity, in ms. All fields are 0 when Count is 0.
type Distribution struct {
	Count int     `json:"count"` // values seen
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// sample keeps values for percentiles: all of them up to a bound, then a uniform
// sample of that size (Vitter, Random Sampling with a Reservoir, 1985,
// algorithm R).
type sample struct {
	bound    int
	rng      *rand.Rand
	kept     []float64
	count    int
	sum, max float64
}

func newSample(bound int, seed uint64) *sample {
	return &sample{bound: bound, rng: rand.New(rand.NewPCG(seed, 0))}
}

// add adds a value >= 0.
func (s *sample) add(v float64) {
	s.count++
	s.sum += v
	s.max = max(s.max, v)
	if len(s.kept) < s.bound {
		s.kept = append(s.kept, v)
	} else if i := s.rng.IntN(s.count); i < s.bound {
		s.kept[i] = v
	}
}

func (s *sample) distribution() Distribution {
	if s.count == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(s.kept))
	return Distribution{
		Count: s.count,
		Mean:  s.sum / float64(s.count),
		P50:   percentile(sorted, 0.50),
		P90:   percentile(sorted, 0.90),
		P99:   percentile(sorted, 0.99),
		Max:   s.max,
	}
}

// percentile returns the smallest value with at least a fraction q of all values at or below it
// (nearest rank); sorted is not empty.
func percentile(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

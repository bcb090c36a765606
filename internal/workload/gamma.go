package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Gamma is a stationary renewal process with Gamma distributed gaps: bursts
// when CV > 1, Poisson when it is 1, almost regular when it is small.
type Gamma struct {
	Rate     float64 // mean, requests/s, > 0
	Duration time.Duration
	CV       float64 // coefficient of variation of the gaps, in [0.01, 100]
}

// String implements Segment.
func (s Gamma) String() string {
	return call("gamma", number(s.Rate), spelling.Duration(s.Duration), "cv="+number(s.CV))
}

// Length implements Segment.
func (s Gamma) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Gamma) RateAt(float64) float64 { return s.Rate }

// ArrivalsBy implements Segment.
func (s Gamma) ArrivalsBy(t float64) float64 { return s.Rate * t }

func (s Gamma) check() error {
	err := firstError(checkRate("rate", s.Rate), checkDuration("duration", s.Duration))
	switch {
	case err != nil:
		return err
	case s.Rate == 0:
		return fmt.Errorf("the rate is 0: write constant(0,%s) for silence", spelling.Duration(s.Duration))
	case !(s.CV >= minCV && s.CV <= maxCV):
		return fmt.Errorf("the cv %s is not in [%s, %s]", number(s.CV), number(minCV), number(maxCV))
	}
	return nil
}

// arrivals starts in equilibrium: the time to the first arrival is the rest of a gap at a random
// instant. Such a gap is length biased, so that Gamma(k) becomes Gamma(k+1), and the instant is
// uniform in it.
func (s Gamma) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	shape := 1 / (s.CV * s.CV)
	gap := distuv.Gamma{Alpha: shape, Beta: shape * s.Rate, Src: rng}
	met := distuv.Gamma{Alpha: shape + 1, Beta: shape * s.Rate, Src: rng}
	end := s.Duration.Seconds()
	for t := rng.Float64() * met.Rand(); t < end; t += gap.Rand() {
		if !yield(t) {
			return false
		}
	}
	return true
}

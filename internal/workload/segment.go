package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// The limits of a segment. They are far beyond any serving fleet and keep arithmetic in seconds
// exact to well below a microsecond.
const (
	maxRate     = 1e6                // requests/s
	maxDuration = 10_000 * time.Hour // of a whole profile, 416 days
	minCV       = 0.01               // below it arrivals are regular
	maxCV       = 100                // the burstiest sample of ServeGen's m-large has 15
)

// Segment is a stretch of a profile: one of Constant, Ramp, Step, Sine, OnOff, Flash,
// Gamma.
// Times are seconds since the segment's start, in [0, its duration].
type Segment interface {
	// String returns the segment in the grammar of ParseProfile.
	String() string
	// Length returns the segment's duration, > 0.
	Length() time.Duration
	// RateAt returns the mean arrival rate at t, in requests/s.
	RateAt(t float64) float64
	// ArrivalsBy returns the expected number of arrivals in [0, t].
	ArrivalsBy(t float64) float64

	check() error
	// arrivals calls yield with ascending times until yield returns false or the segment
	// ends; it reports whether the caller continues with the next segment.
	arrivals(rng *rand.Rand, yield func(t float64) bool) bool
}

// Constant is a Poisson process with one rate.
type Constant struct {
	Rate     float64 // requests/s, >= 0
	Duration time.Duration
}

// String implements Segment.
func (s Constant) String() string {
	return call("constant", number(s.Rate), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s Constant) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Constant) RateAt(float64) float64 { return s.Rate }

// ArrivalsBy implements Segment.
func (s Constant) ArrivalsBy(t float64) float64 { return s.Rate * t }

func (s Constant) check() error {
	return firstError(checkRate("rate", s.Rate), checkDuration("duration", s.Duration))
}

func (s Constant) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	return poisson(s, func(n float64) float64 { return n / s.Rate }, rng, yield)
}

// Ramp is a Poisson process whose rate changes linearly.
type Ramp struct {
	From, To float64 // requests/s, >= 0
	Duration time.Duration
}

// String implements Segment.
func (s Ramp) String() string {
	return call("ramp", arrow(s.From, s.To), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s Ramp) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Ramp) RateAt(t float64) float64 { return s.From + s.slope()*t }

// ArrivalsBy implements Segment.
func (s Ramp) ArrivalsBy(t float64) float64 { return s.From*t + s.slope()*t*t/2 }

func (s Ramp) slope() float64 { return (s.To - s.From) / s.Duration.Seconds() }

func (s Ramp) check() error {
	return firstError(checkRate("first rate", s.From), checkRate("last rate", s.To), checkDuration("duration", s.Duration))
}

// arrivals solves from·t + slope·t²/2 = n in the form that does not cancel.
func (s Ramp) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	slope := s.slope()
	invert := func(n float64) float64 {
		return 2 * n / (s.From + math.Sqrt(max(0, s.From*s.From+2*slope*n)))
	}
	return poisson(s, invert, rng, yield)
}

// Step is a Poisson process whose rate jumps once.
type Step struct {
	From, To float64       // requests/s, >= 0
	At       time.Duration // of the change, in [0, Duration]
	Duration time.Duration
}

// String implements Segment.
func (s Step) String() string {
	return call("step", arrow(s.From, s.To), spelling.Duration(s.At), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s Step) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Step) RateAt(t float64) float64 {
	if t < s.At.Seconds() {
		return s.From
	}
	return s.To
}

// ArrivalsBy implements Segment.
func (s Step) ArrivalsBy(t float64) float64 {
	at := s.At.Seconds()
	return s.From*min(t, at) + s.To*max(0, t-at)
}

func (s Step) check() error {
	err := firstError(checkRate("first rate", s.From), checkRate("last rate", s.To), checkDuration("duration", s.Duration))
	if err == nil && (s.At < 0 || s.At > s.Duration) {
		err = fmt.Errorf("the step at %s is outside the duration %s", spelling.Duration(s.At), spelling.Duration(s.Duration))
	}
	return err
}

func (s Step) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	at := s.At.Seconds()
	before := s.From * at
	invert := func(n float64) float64 {
		if n < before {
			return n / s.From
		}
		return at + (n-before)/s.To
	}
	return poisson(s, invert, rng, yield)
}

// Sine is a Poisson process whose rate swings between two values as a cosine,
// starting at Low.
type Sine struct {
	Low, High float64       // requests/s, 0 <= Low <= High
	Period    time.Duration // from one low point to the next
	Duration  time.Duration
}

// String implements Segment.
func (s Sine) String() string {
	return call("sine", arrow(s.Low, s.High), spelling.Duration(s.Period), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s Sine) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Sine) RateAt(t float64) float64 {
	return (s.Low+s.High)/2 - (s.High-s.Low)/2*math.Cos(s.frequency()*t)
}

// ArrivalsBy implements Segment.
func (s Sine) ArrivalsBy(t float64) float64 {
	w := s.frequency()
	return (s.Low+s.High)/2*t - (s.High-s.Low)/2*math.Sin(w*t)/w
}

func (s Sine) frequency() float64 { return 2 * math.Pi / s.Period.Seconds() }

func (s Sine) check() error {
	err := firstError(checkRate("low rate", s.Low), checkRate("high rate", s.High),
		checkDuration("period", s.Period), checkDuration("duration", s.Duration))
	if err == nil && s.Low > s.High {
		err = fmt.Errorf("the low rate %s is above the high rate %s", number(s.Low), number(s.High))
	}
	return err
}

func (s Sine) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	return poisson(s, func(n float64) float64 { return bisect(s, n) }, rng, yield)
}

// bisect returns the time at which n arrivals of s are expected. 60 halvings of at most 416 days
// end below a nanosecond.
func bisect(s Segment, n float64) float64 {
	low, high := 0.0, s.Length().Seconds()
	for range 60 {
		middle := (low + high) / 2
		if s.ArrivalsBy(middle) < n {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// poisson yields invert(S) for every S of a Poisson process of rate 1 below the expected number of
// arrivals of s.
func poisson(s Segment, invert func(n float64) float64, rng *rand.Rand, yield func(float64) bool) bool {
	expected := s.ArrivalsBy(s.Length().Seconds())
	for n := rng.ExpFloat64(); n < expected; n += rng.ExpFloat64() {
		if !yield(invert(n)) {
			return false
		}
	}
	return true
}

func checkRate(name string, rate float64) error {
	if !(rate >= 0 && rate <= maxRate) {
		return fmt.Errorf("the %s %s is not in [0, %s] requests/s", name, number(rate), number(maxRate))
	}
	return nil
}

func checkDuration(name string, d time.Duration) error {
	if d <= 0 || d > maxDuration {
		return fmt.Errorf("the %s %s is not in (0, %s]", name, spelling.Duration(d), spelling.Duration(maxDuration))
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

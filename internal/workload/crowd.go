package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// OnOff is a Poisson process with silent times: on for On, then off for Off, and so on, beginning
// with on.
type OnOff struct {
	Rate     float64       // while on, requests/s, >= 0
	On, Off  time.Duration // > 0
	Duration time.Duration
}

// String implements Segment.
func (s OnOff) String() string {
	return call("onoff", number(s.Rate), spelling.Duration(s.On), spelling.Duration(s.Off), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s OnOff) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s OnOff) RateAt(t float64) float64 {
	if math.Mod(t, s.period()) < s.On.Seconds() {
		return s.Rate
	}
	return 0
}

// ArrivalsBy implements Segment.
func (s OnOff) ArrivalsBy(t float64) float64 {
	whole := math.Floor(t / s.period())
	return s.Rate * (whole*s.On.Seconds() + min(t-whole*s.period(), s.On.Seconds()))
}

func (s OnOff) period() float64 { return (s.On + s.Off).Seconds() }

func (s OnOff) check() error {
	return firstError(checkRate("rate", s.Rate), checkDuration("time on", s.On), checkDuration("time off", s.Off), checkDuration("duration", s.Duration))
}

func (s OnOff) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	invert := func(n float64) float64 {
		busy := n / s.Rate // seconds on until the nth arrival
		whole := math.Floor(busy / s.On.Seconds())
		return busy + whole*s.Off.Seconds()
	}
	return poisson(s, invert, rng, yield)
}

// Flash is a Poisson process with a flash crowd: its rate jumps at once and
// falls back exponentially.
type Flash struct {
	Low, High float64       // requests/s, 0 <= Low <= High
	At        time.Duration // of the jump, in [0, Duration]
	Decay     time.Duration // until the rate above Low has fallen to 1/e
	Duration  time.Duration
}

// String implements Segment.
func (s Flash) String() string {
	return call("flash", arrow(s.Low, s.High), spelling.Duration(s.At), spelling.Duration(s.Decay), spelling.Duration(s.Duration))
}

// Length implements Segment.
func (s Flash) Length() time.Duration { return s.Duration }

// RateAt implements Segment.
func (s Flash) RateAt(t float64) float64 {
	if t < s.At.Seconds() {
		return s.Low
	}
	return s.Low + (s.High-s.Low)*math.Exp(-(t-s.At.Seconds())/s.Decay.Seconds())
}

// ArrivalsBy implements Segment.
func (s Flash) ArrivalsBy(t float64) float64 {
	since := max(0, t-s.At.Seconds()) / s.Decay.Seconds()
	return s.Low*t - (s.High-s.Low)*s.Decay.Seconds()*math.Expm1(-since)
}

func (s Flash) check() error {
	err := firstError(checkRate("low rate", s.Low), checkRate("high rate", s.High),
		checkDuration("decay", s.Decay), checkDuration("duration", s.Duration))
	switch {
	case err != nil:
		return err
	case s.Low > s.High:
		return fmt.Errorf("the low rate %s is above the high rate %s", number(s.Low), number(s.High))
	case s.At < 0 || s.At > s.Duration:
		return fmt.Errorf("the jump at %s is outside the duration %s", spelling.Duration(s.At), spelling.Duration(s.Duration))
	}
	return nil
}

func (s Flash) arrivals(rng *rand.Rand, yield func(float64) bool) bool {
	return poisson(s, func(n float64) float64 { return bisect(s, n) }, rng, yield)
}

package memory

import (
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Arrival is the arrival rate of a model in a span of time.
type Arrival struct {
	At   time.Time     `json:"at"`   // end of the span
	Over time.Duration `json:"over"` // length of the span, > 0
	Rate float64       `json:"rate"` // mean requests/s, >= 0
}

// Arrivals are the recent arrival rates of a model, oldest first. The zero value remembers nothing.
// It is a value: no method changes it.
type Arrivals []Arrival

// arrivalsKept is the number of steps for which a rate is remembered: four rates, each up to two
// steps after the one before, span six.
const arrivalsKept = 6

// Then returns a with the arrival rate of s, without rates that are too old for Apart with step or,
// if longer, far. An unknown rate leaves a gap. If the last rate follows its predecessor by less
// than a quarter of the window, the new rate replaces it, so that frequent woken cycles do not fill
// the memory. Rates too old for step are kept a quarter of far apart. A snapshot that is not newer
// than the last rate changes nothing.
func (a Arrivals) Then(s scaling.Snapshot, step, far time.Duration) Arrivals {
	if n := len(a); n > 0 && !s.At.After(a[n-1].At) {
		return a
	}
	near := s.At.Add(-arrivalsKept * max(step, s.Window))
	oldest := s.At.Add(-arrivalsKept * max(step, s.Window, far))
	var out Arrivals
	for _, one := range a {
		crowds := len(out) > 0 && one.At.Before(near) && one.At.Sub(out[len(out)-1].At) < far/4
		if !one.At.Before(oldest) && !crowds {
			out = append(out, one)
		}
	}
	rate := s.Load.ArrivalRate
	if !rate.Known() || s.Window <= 0 {
		return out
	}
	if n := len(out); n > 1 && out[n-1].At.Sub(out[n-2].At) < s.Window/4 {
		out = out[:n-1]
	}
	return append(out, Arrival{At: s.At, Over: s.Window, Rate: rate.Value})
}

// Apart returns n of the rates, newest first, whose spans do not overlap. Each ends one to two
// steps before the one after it, since woken cycles come at any time. The step is at least the span
// of the last rate; it may be an eighth shorter, since no clock is exact. Apart returns nil where
// there are too few rates, a gap is longer, or spans differ in length.
func (a Arrivals) Apart(n int, step time.Duration) []Arrival {
	var out []Arrival
	for i := len(a) - 1; i >= 0 && len(out) < n; i-- {
		if len(out) == 0 {
			step = max(step, a[i].Over)
			out = append(out, a[i])
			continue
		}
		after := out[len(out)-1]
		apart := after.At.Sub(a[i].At)
		switch {
		case apart < step-step/8:
			continue
		case apart > 2*step || a[i].Over != after.Over:
			return nil
		}
		out = append(out, a[i])
	}
	if len(out) < n {
		return nil
	}
	return out
}

const (
	// risesBy is the least part by which a rate must exceed an earlier one to have risen.
	risesBy = 0.1
	// risesBeyond is the number of standard deviations of Poisson arrivals by which it must exceed
	// it.
	risesBeyond = 5
)

// Rose reports whether the last rate exceeds an earlier one by more than the noise of arrivals. It
// ignores rates within one span of the first: their spans began before arrivals were measured.
func (a Arrivals) Rose() bool {
	if len(a) == 0 {
		return false
	}
	last := a[len(a)-1]
	return slices.ContainsFunc(a, func(one Arrival) bool {
		if one.Over != last.Over || last.At.Sub(one.At) < one.Over || one.At.Sub(a[0].At) < one.Over {
			return false
		}
		more, noise := last.Rate-one.Rate, math.Sqrt((last.Rate+one.Rate)/one.Over.Seconds())
		return more > risesBy*one.Rate && more > risesBeyond*noise
	})
}

package scaling

import (
	"math"
	"slices"
	"time"
)

// Arrival is how many requests of a model arrived in a span of time.
type Arrival struct {
	At   time.Time     `json:"at"`   // end of the span
	Over time.Duration `json:"over"` // length of the span, > 0
	Rate float64       `json:"rate"` // requests/s in the mean, >= 0
}

// Arrivals are the rates at which requests of a model arrived lately, oldest
// first. The zero value remembers nothing. It is a value: no method changes it.
type Arrivals []Arrival

// arrivalsKept is for how many steps an arrival rate is remembered: four of them that
// are up to two steps apart.
const arrivalsKept = 6

// Then returns a with the arrival rate of s, without those that are too old for
// Apart with this step or, where that is longer, with far. An unknown rate leaves a
// gap. A rate closer than a quarter of the window to the one before it gives way to
// the next, so that cycles which are woken often do not fill the memory; what is too
// old for the step is kept a quarter of far apart. A snapshot that is not newer than
// what is remembered changes nothing.
func (a Arrivals) Then(s Snapshot, step, far time.Duration) Arrivals {
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

// Apart returns n of the rates, the last one first, each of a span of its own: each
// ends a step before the one after it, or as little more as there is, up to two
// steps: woken cycles come at any time, and the next one a step later. A step shorter than the span of the last rate counts as that, and
// an eighth less than a step as one, since no clock is exact. It returns nil where
// there are too few, or where they were measured over spans that differ.
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
	// risesBeyond is by how many standard deviations of Poisson arrivals it must.
	risesBeyond = 5
)

// Rose reports whether the last rate is higher than an earlier one by more than the noise of
// arrivals. Rates that were first measured say nothing: their span began before there was
// anything to measure.
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

package zoo

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// draw draws a generator of a kind: a function of a window and of a factor of its rates. With
// factor 1 the highest rate is 1.
func draw(d dice.Dice, kind string) func(window time.Duration, times float64) workload.Profile {
	low := d.Between(0.05, 0.7)
	switch kind {
	case day:
		parts := dice.Pick(d, 1, 1, 2, 3)
		return one(func(w time.Duration, x float64) workload.Segment {
			return workload.Sine{Low: rate(low * x), High: rate(x), Period: fraction(w, 1/float64(parts)), Duration: w}
		})
	case flash:
		at, decay := d.Between(0.3, 0.8), d.Span(3*time.Minute, 40*time.Minute, time.Minute)
		return one(func(w time.Duration, x float64) workload.Segment {
			return workload.Flash{Low: rate(low * x), High: rate(x), At: fraction(w, at), Decay: decay, Duration: w}
		})
	case onOff:
		on, times := d.Between(0.3, 0.8), math.Floor(d.Between(3, 9))
		return one(func(w time.Duration, x float64) workload.Segment {
			return workload.OnOff{Rate: rate(x), On: fraction(w, on/times), Off: fraction(w, (1-on)/times), Duration: w}
		})
	case bursts:
		return levels(d, 8, func(x float64, w time.Duration, cv float64, _ float64) workload.Segment {
			return workload.Gamma{Rate: rate(x), Duration: w, CV: cv}
		})
	case steps:
		return levels(d, 2+d.IntN(5), func(x float64, w time.Duration, _ float64, _ float64) workload.Segment {
			return workload.Constant{Rate: rate(x), Duration: w}
		})
	case ramps:
		return levels(d, 2+d.IntN(5), func(x float64, w time.Duration, _ float64, next float64) workload.Segment {
			return workload.Ramp{From: rate(x), To: rate(next), Duration: w}
		})
	}
	return one(func(w time.Duration, x float64) workload.Segment {
		return workload.Constant{Rate: rate(x), Duration: w}
	})
}

// levels draws a sequence of n levels of equal length.
func levels(d dice.Dice, n int, segment func(level float64, length time.Duration, cv, next float64) workload.Segment) func(time.Duration, float64) workload.Profile {
	cv := dice.Digits(d.Around(1.5, 8), 2)
	all := make([]float64, n+1)
	for i := range all {
		all[i] = d.Around(0.1, 1)
	}
	all[d.IntN(n)] = 1
	return func(w time.Duration, x float64) workload.Profile {
		var out []workload.Segment
		left := w
		for i := range n {
			length := fraction(w, 1/float64(n))
			if i == n-1 {
				length = left
			}
			left -= length
			out = append(out, segment(all[i]*x, length, cv, all[i+1]*x))
		}
		return made(out...)
	}
}

// one returns a generator of one segment.
func one(segment func(time.Duration, float64) workload.Segment) func(time.Duration, float64) workload.Profile {
	return func(w time.Duration, x float64) workload.Profile { return made(segment(w, x)) }
}

func made(all ...workload.Segment) workload.Profile {
	p, err := workload.NewProfile(all...)
	if err != nil {
		panic("zoo: a generator that is none: " + err.Error())
	}
	return p
}

// rate rounds a rate and keeps it above 0.
func rate(x float64) float64 { return math.Max(1e-6, dice.Digits(x, 4)) }

// fraction returns a part of a window, in whole seconds.
func fraction(w time.Duration, of float64) time.Duration {
	return time.Duration(w.Seconds()*of) * time.Second
}

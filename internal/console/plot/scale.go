package plot

import (
	"math"
	"strconv"
)

// scale converts values to shares of an axis.
type scale struct {
	low, high float64 // low < high
	log       bool    // then low > 0
	ticks     []tick
}

// tick is a labelled value of an axis.
type tick struct {
	at   float64
	text string
}

// ManyFold is the ratio of the largest to the least value above which a y axis is logarithmic.
const ManyFold = 20

// share returns the place of v on the axis, 0 at its low end and 1 at its high end.
func (s scale) share(v float64) float64 {
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// value returns the value at a share: the inverse of share.
func (s scale) value(share float64) float64 {
	if s.log {
		return s.low * math.Pow(s.high/s.low, share)
	}
	return s.low + share*(s.high-s.low)
}

// tight returns a linear scale that ends with the values, and begins at 0 or with them.
func tight(low, high float64, most int) scale {
	low, high = fromZero(low, high)
	s := scale{low: low, high: high}
	step := niceStep((high - low) / float64(most))
	const rounding = 1e-9 // of a step
	for i := math.Ceil(low/step - rounding); i <= high/step+rounding && len(s.ticks) <= most; i++ {
		s.ticks = append(s.ticks, tick{i * step, decimals(i*step, step)})
	}
	return s
}

// wide returns a scale that ends on ticks around the values; most is at least 5, so that a
// logarithmic scale has two ticks.
func wide(low, high float64, most int) scale {
	if low > 0 && high/low > ManyFold {
		return logarithmic(low, high, most)
	}
	low, high = fromZero(low, high)
	step := niceStep((high - low) / float64(most))
	first, last := math.Floor(low/step), math.Ceil(high/step-1e-9)
	s := scale{low: first * step, high: last * step}
	for i := first; i <= last && len(s.ticks) <= most+1; i++ {
		s.ticks = append(s.ticks, tick{i * step, decimals(i*step, step)})
	}
	return s
}

// fromZero returns the range of an axis: from 0 for positive values, unless all lie in the upper
// half, and wider than the values where there is only one.
func fromZero(low, high float64) (from, to float64) {
	if low >= 0 && low < high/2 {
		low = 0
	}
	const thin = 1e-6 // relative: the labels show no smaller difference
	if size := max(math.Abs(low), math.Abs(high)); high-low <= thin*size {
		if size == 0 {
			return 0, 1
		}
		return low - size/10, high + size/10
	}
	return low, high
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is at least v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic returns a logarithmic scale with ticks at 1, 2 and 5 times the powers of ten, at the
// powers of ten, or at every nth of them, as many as fit.
func logarithmic(low, high float64, most int) scale {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	s := scale{log: true, low: math.Pow10(first), high: math.Pow10(last)}
	var fine []tick
	for k := first; k <= last; k++ {
		for _, m := range [...]float64{1, 2, 5} {
			v := m * math.Pow10(k)
			switch {
			case k == last && m > 1:
				continue
			case v <= low:
				s.low, fine = v, nil
			case v >= high:
				s.high = min(s.high, v)
			}
			if v <= s.high {
				fine = append(fine, tick{v, decimals(v, math.Pow10(k))})
			}
		}
	}
	if len(fine) <= most+1 {
		s.ticks = fine
		return s
	}
	every := (last-first)/most + 1
	for k := first; k <= last; k += every {
		if v := math.Pow10(k); v >= s.low && v <= s.high {
			s.ticks = append(s.ticks, tick{v, decimals(v, v)})
		}
	}
	return s
}

// decimals returns v rounded to the place of the first digit of step.
func decimals(v, step float64) string {
	place := exponent(step)
	if math.Abs(v) < step/2 {
		return "0" // and not -0, nor 0.0
	}
	const longest = 5 // digits before or after the point
	if place < -longest || exponent(v) > longest {
		return strconv.FormatFloat(v, 'g', exponent(v)-place+1, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, -place), 64)
}

// exponent returns the power of ten of the first digit of v, which is not 0.
func exponent(v float64) int {
	const rounding = 1e-9
	return int(math.Floor(math.Log10(math.Abs(v)) + rounding))
}

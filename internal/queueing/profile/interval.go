package profile

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Interval is a number that is at least 0 with the bounds that it is between with a
// probability of 0.9.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	// deviations is the 0.95 quantile of the normal distribution: nine of ten lie within as many
	// standard deviations.
	deviations = 1.6449
	// bent is by which part no engine keeps the law, however well what was seen lies on it: it was seen
	// with other lengths.
	bent = 0.004
	// trust is how many looks the noise that is assumed counts as, beside what is seen of it.
	trust = 2
)

// estimate is a linear with how far it may be off. A linear alone takes the noise for known
// and what was seen for independent looks, of which the last ten of a band count; here the
// noise is that which was seen, and a band comes to as many looks as its weights say.
type estimate struct {
	linear
	free    linear  // the coefficients if they might be negative, of which those below 0 are held at it
	scatter float64 // by which part a look is off
	lack    float64 // by which part the law itself is off in a band, beyond what its looks explain
	wide    float64 // standard deviations of an interval
}

// estimated returns what is believed after the looks of all bands.
func (l linear) estimated(bands []scaling.Sums) estimate {
	all := l.unbiased(bands)
	var said [3][3]float64 // the sum over looks of the products of their regressors, by the square of what each counts for
	for _, s := range bands {
		seen := s.Matrix()
		for i := range 3 {
			for j := range 3 {
				said[i][j] += each(s) * seen[i][j]
			}
		}
	}
	out := estimate{linear: l.after(all), free: l.solve(all, [3]bool{}), scatter: noise}
	prior, seen := inverse(l.cov), all.Matrix()
	explained := 0.0 // coefficients that what was seen tells, and not what was believed before
	for i := range 3 {
		for j := range 3 {
			explained += out.free.cov[i][j] * seen[j][i] / (noise * noise)
		}
	}
	freedom := 0.0
	if all.Looks > 0 {
		freedom = max(0, all.Looks*all.Looks/squares(bands)-explained)
	}
	if freedom > 0 {
		variance := spreadOf(out.mean, bands) * all.Looks / max(all.Looks-explained*squares(bands)/all.Looks, 1e-3*all.Looks)
		out.scatter = math.Sqrt((trust*noise*noise + freedom*variance) / (trust + freedom))
	}
	out.lack = lack(out, bands, float64(len(bands))-explained)
	for _, s := range bands {
		x := s.Vector()
		for i := range 3 {
			for j := range 3 {
				said[i][j] += x[i] * x[j] * out.lack * out.lack / (out.scatter * out.scatter)
			}
		}
	}
	// The error of the mean is that of what was believed before, and that of the looks.
	noisy := out.scatter * out.scatter / (noise * noise * noise * noise)
	for i := range 3 {
		for j := range 3 {
			said[i][j] = prior[i][j] + noisy*said[i][j]
		}
	}
	out.free.cov = times(times(out.free.cov, said), out.free.cov)
	out.wide = deviations + (deviations*deviations*deviations+deviations)/(4*(trust+freedom)) // of Student's distribution, nearly
	return out
}

// lack estimates by which part the law is off in a band, from how much further the means of the
// bands are from it than their looks explain; freedom is how many of them the coefficients leave free.
func lack(e estimate, bands []scaling.Sums, freedom float64) float64 {
	if freedom < 0.5 {
		return 0
	}
	off, looks := 0.0, 0.0
	for _, s := range bands {
		if s.Looks > 0 {
			part := above(e.mean, s)
			off += part * part * s.Looks / each(s)
			looks += s.Looks / each(s)
		}
	}
	return math.Sqrt(max(0, off-e.scatter*e.scatter*(freedom+math.Sqrt(2*freedom))) / (looks * freedom / float64(len(bands))))
}

// above is by which part the looks of s are above a law with these coefficients, in the mean.
func above(mean [3]float64, s scaling.Sums) float64 {
	return 1 - dot(mean, s.Vector())/s.Looks/(1+misfit(mean, s))
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// squares is the sum of the squares of what the windows of all bands count for.
func squares(bands []scaling.Sums) (sum float64) {
	for _, s := range bands {
		sum += each(s) * s.Looks
	}
	return sum
}

// each is what a window of s counts for in the mean over what they count for, 1 where that
// was not written down.
func each(s scaling.Sums) float64 {
	if !(s.Looks > 0) || !(s.Squares > 0) {
		return 1
	}
	return min(1, s.Squares/s.Looks)
}

// spreadOf is the misfit of all looks.
func spreadOf(mean [3]float64, bands []scaling.Sums) float64 {
	var all scaling.Sums
	for _, s := range bands {
		all = all.And(s)
	}
	return misfit(mean, all)
}

// misfit is the mean square of the part by which the looks of s are off a law with these
// coefficients.
func misfit(mean [3]float64, s scaling.Sums) float64 {
	return max(0, (s.Looks-2*dot(mean, s.Vector())+quadratic(s.Matrix(), mean))/s.Looks)
}

// latency is what the law says of x, which may be off in any band.
func (e estimate) latency(x [3]float64) Interval {
	in := e.at(x)
	off := e.wide * max(bent, e.lack) * in.Mean
	return Interval{Mean: in.Mean, Low: max(0, in.Mean-math.Hypot(in.Mean-in.Low, off)), High: in.Mean + math.Hypot(in.High-in.Mean, off)}
}

// at is the sum of the coefficients times x, which are at least 0.
func (e estimate) at(x [3]float64) Interval {
	mean, middle := dot(e.mean, x), dot(e.free.mean, x)
	variance := quadratic(e.free.cov, x)
	off := e.wide * math.Sqrt(max(0, variance))
	high := middle + off
	if middle < 0 { // what is left above 0 of a normal distribution falls off exponentially, nearly
		const twentieth = 2.996
		high = min(off, twentieth*variance/-middle)
	}
	low := middle - off
	if e.mean != e.free.mean { // what is held at 0 moves the others, which may be off by as much from there
		off = e.wide * e.scatter / noise * math.Sqrt(max(0, quadratic(e.cov, x)))
		low, high = min(low, mean-off), max(high, mean+off)
	}
	return Interval{Mean: mean, Low: max(0, min(low, mean)), High: max(high, mean)}
}

// times is the product of two matrices.
func times(a, b [3][3]float64) (out [3][3]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return out
}

// quadratic is x' m x.
func quadratic(m [3][3]float64, x [3]float64) (sum float64) {
	for i := range 3 {
		for j := range 3 {
			sum += x[i] * m[i][j] * x[j]
		}
	}
	return sum
}

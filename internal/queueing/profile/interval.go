package profile

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Interval is a number of at least 0, and the bounds that contain it with a probability of 0.9.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	// deviations is the 0.95 quantile of the normal distribution: an interval of 0.9 extends by as
	// many standard deviations to each side.
	deviations = 1.6449
	// bent is the least deviation of an engine from the law, as a ratio, however well the samples
	// fit: they were of other lengths.
	bent = 0.004
	// trust is the number of samples that the assumed noise counts for, beside the measured one.
	trust = 2
)

// estimate is a linear with its error. A linear alone takes the noise as known, and counts the last
// ten samples of a band as independent. An estimate takes the noise from the samples, and counts as
// many samples for a band as their weights say.
type estimate struct {
	linear
	free    linear  // the coefficients without the bound at 0, which linear holds negative ones at
	scatter float64 // standard deviation of a sample, a ratio
	lack    float64 // deviation of the law in a band beyond the scatter of its samples, a ratio
	wide    float64 // standard deviations from the middle of an interval to its bounds
}

// estimated returns the estimate after the samples of all bands.
func (l linear) estimated(bands []memory.Sums) estimate {
	all := l.unbiased(bands)
	var said [3][3]float64 // the sum over samples of the products of their regressors, by their squared weights
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
	explained := 0.0 // number of coefficients that the samples determine, not the prior
	for i := range 3 {
		for j := range 3 {
			explained += out.free.cov[i][j] * seen[j][i] / (noise * noise)
		}
	}
	freedom := 0.0
	if all.Samples > 0 {
		freedom = max(0, all.Samples*all.Samples/squares(bands)-explained)
	}
	if freedom > 0 {
		variance := spreadOf(out.mean, bands) * all.Samples / max(all.Samples-explained*squares(bands)/all.Samples, 1e-3*all.Samples)
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
	// The error of the mean comes from the prior and from the samples.
	noisy := out.scatter * out.scatter / (noise * noise * noise * noise)
	for i := range 3 {
		for j := range 3 {
			said[i][j] = prior[i][j] + noisy*said[i][j]
		}
	}
	out.free.cov = times(times(out.free.cov, said), out.free.cov)
	out.wide = deviations + (deviations*deviations*deviations+deviations)/(4*(trust+freedom)) // approximates the quantile of Student's distribution
	return out
}

// lack estimates the deviation of the law in a band, as a ratio, from the part of the deviation of
// the means of bands that their samples do not explain. freedom is the number of these means that the
// coefficients leave free.
func lack(e estimate, bands []memory.Sums, freedom float64) float64 {
	if freedom < 0.5 {
		return 0
	}
	off, samples := 0.0, 0.0
	for _, s := range bands {
		if s.Samples > 0 {
			part := above(e.mean, s)
			off += part * part * s.Samples / each(s)
			samples += s.Samples / each(s)
		}
	}
	return math.Sqrt(max(0, off-e.scatter*e.scatter*(freedom+math.Sqrt(2*freedom))) / (samples * freedom / float64(len(bands))))
}

// above returns by which part of them the samples of s are above a law with these coefficients, in
// the mean; negative where they are below.
func above(mean [3]float64, s memory.Sums) float64 {
	return 1 - dot(mean, s.Vector())/s.Samples/(1+misfit(mean, s))
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// squares returns the sum of the squared weights of the windows of all bands.
func squares(bands []memory.Sums) (sum float64) {
	for _, s := range bands {
		sum += each(s) * s.Samples
	}
	return sum
}

// each returns the mean weight of a window of s, itself weighted by weight; 1 where the squares are
// unknown.
func each(s memory.Sums) float64 {
	if !(s.Samples > 0) || !(s.Squares > 0) {
		return 1
	}
	return min(1, s.Squares/s.Samples)
}

// spreadOf returns the misfit of the samples of all bands together.
func spreadOf(mean [3]float64, bands []memory.Sums) float64 {
	var all memory.Sums
	for _, s := range bands {
		all = all.And(s)
	}
	return misfit(mean, all)
}

// misfit returns the mean square of the deviations of the samples of s from a law with these
// coefficients, as ratios.
func misfit(mean [3]float64, s memory.Sums) float64 {
	return max(0, (s.Samples-2*dot(mean, s.Vector())+quadratic(s.Matrix(), mean))/s.Samples)
}

// latency returns the time in ms by the law at the regressors x, and includes the deviation of the
// law.
func (e estimate) latency(x [3]float64) Interval {
	in := e.at(x)
	off := e.wide * max(bent, e.lack) * in.Mean
	return Interval{Mean: in.Mean, Low: max(0, in.Mean-math.Hypot(in.Mean-in.Low, off)), High: in.Mean + math.Hypot(in.High-in.Mean, off)}
}

// at returns the sum of the coefficients times x, which are at least 0.
func (e estimate) at(x [3]float64) Interval {
	mean, middle := dot(e.mean, x), dot(e.free.mean, x)
	variance := quadratic(e.free.cov, x)
	off := e.wide * math.Sqrt(max(0, variance))
	high := middle + off
	if middle < 0 { // the tail of a normal distribution above 0 is nearly exponential
		const twentieth = 2.996
		high = min(off, twentieth*variance/-middle)
	}
	low := middle - off
	if e.mean != e.free.mean { // holding one coefficient at 0 moves the others: their error counts from the new mean
		off = e.wide * e.scatter / noise * math.Sqrt(max(0, quadratic(e.cov, x)))
		low, high = min(low, mean-off), max(high, mean+off)
	}
	return Interval{Mean: mean, Low: max(0, min(low, mean)), High: max(high, mean)}
}

// times returns the product of two matrices.
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

// quadratic returns x' m x.
func quadratic(m [3][3]float64, x [3]float64) (sum float64) {
	for i := range 3 {
		for j := range 3 {
			sum += x[i] * m[i][j] * x[j]
		}
	}
	return sum
}

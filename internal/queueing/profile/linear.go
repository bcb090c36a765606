package profile

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// noise is the assumed standard deviation of a measurement from the law, a ratio.
const noise = 0.03

// linear is the belief about three coefficients that are at least 0: a normal distribution.
type linear struct {
	mean [3]float64
	cov  [3][3]float64
}

// spread returns independent coefficients with the standard deviations off.
func spread(mean, off [3]float64) linear {
	l := linear{mean: mean}
	for i, o := range off {
		l.cov[i][i] = o * o
	}
	return l
}

// scaled returns l with a further common error of all coefficients: part is its standard deviation,
// a ratio.
func (l linear) scaled(part float64) linear {
	for i := range 3 {
		for j := range 3 {
			l.cov[i][j] += part * part * l.mean[i] * l.mean[j]
		}
	}
	return l
}

// unbiased returns the sums of all bands without the bias of dividing by the measured time. It
// takes the noise of each band from its samples: a band in which few requests start has more than
// others.
func (l linear) unbiased(bands []memory.Sums) (all memory.Sums) {
	const most = 0.05 // of a variance: more is no noise
	for _, s := range bands {
		all = all.And(s)
	}
	mean := l.after(all).mean
	all = memory.Sums{}
	for _, s := range bands {
		off := 1 - dot(mean, s.Vector())/s.Samples
		all = all.And(s.Unbiased(max(0, min(most, misfit(mean, s)-off*off))))
	}
	return all
}

// after returns the belief after samples, by a Bayesian linear regression. Coefficients that would be
// negative are 0.
func (l linear) after(s memory.Sums) linear {
	held := [3]bool{}
	post := l.solve(s, held)
	for range held {
		least := 0
		for i, m := range post.mean {
			if m < post.mean[least] {
				least = i
			}
		}
		if !(post.mean[least] < 0) {
			break
		}
		held[least] = true
		post = l.solve(s, held)
	}
	return post
}

// solve solves the normal equations, with some coefficients held at 0.
func (l linear) solve(s memory.Sums, held [3]bool) linear {
	a, b := inverse(l.cov), [3]float64{}
	seen, said := s.Matrix(), s.Vector()
	for i := range 3 {
		for j := range 3 {
			b[i] += a[i][j] * l.mean[j]
		}
	}
	for i := range 3 {
		b[i] += said[i] / (noise * noise)
		for j := range 3 {
			a[i][j] += seen[i][j] / (noise * noise)
		}
	}
	for i, is := range held {
		if is {
			for j := range 3 {
				a[i][j], a[j][i] = 0, 0
			}
			a[i][i], b[i] = 1, 0
		}
	}
	out := linear{cov: inverse(a)}
	for i := range 3 {
		for j := range 3 {
			out.mean[i] += out.cov[i][j] * b[j]
		}
		if held[i] {
			out.cov[i][i] = 0
		}
	}
	return out
}

// quicker returns l with a shorter step of a request that is alone, which is the sum of the first
// two coefficients: shorter by so many standard deviations. Each coefficient gets its most likely
// value under that condition, so that well measured loads keep their times and others get the
// benefit of the doubt.
func (l linear) quicker(deviations float64) linear {
	var with [3]float64 // covariances of the sum with each coefficient
	for i := range 3 {
		with[i] = l.cov[i][0] + l.cov[i][1]
	}
	v := with[0] + with[1]
	if !(v > 0) {
		return l
	}
	less := min(deviations*math.Sqrt(v), l.mean[0]+l.mean[1])
	for i := range 3 {
		l.mean[i] = max(0, l.mean[i]-less*with[i]/v)
	}
	return l
}

// inverse returns the inverse of a matrix that is positive definite, or has rows of zeros.
func inverse(m [3][3]float64) (out [3][3]float64) {
	if diagonal := [3][3]float64{{m[0][0]}, {1: m[1][1]}, {2: m[2][2]}}; m == diagonal && m[0][0]*m[1][1]*m[2][2] != 0 {
		out[0][0], out[1][1], out[2][2] = 1/m[0][0], 1/m[1][1], 1/m[2][2]
		return out
	}
	var a [3][6]float64
	for i := range 3 {
		copy(a[i][:3], m[i][:])
		a[i][3+i] = 1
		if a[i][i] == 0 {
			a[i][i] = 1e-12
		}
	}
	for c := range 3 { // Gauss-Jordan
		pivot := a[c][c]
		for j := range 6 {
			a[c][j] /= pivot
		}
		for r := range 3 {
			if factor := a[r][c]; r != c {
				for j := range 6 {
					a[r][j] -= factor * a[c][j]
				}
			}
		}
	}
	for i := range 3 {
		copy(out[i][:], a[i][3:])
	}
	return out
}

package exact

import (
	"math"
	"slices"
)

// follow moves the prices to the maximum of the smoothed function at mu or, if that is too far
// away, at a larger mu. It reports whether it got there, and the mu. Far from its maximum the
// function is almost linear when mu is small, and Newton's steps fail.
func (d *dual) follow(mu float64) (bool, float64) {
	for ; mu < d.ceiling; mu *= 10 {
		if d.centre(mu) {
			return true, mu
		}
	}
	return false, mu
}

// Newton's method ends at this decrement, in units of mu, or after so many steps: the prices need
// to be good, not exact.
const (
	decrement = 0.2
	maxSteps  = 40
	maxCuts   = 20 // of the length of one step, each to a third
)

// centre moves the prices to the maximum of the smoothed function. It reports
// whether it got there.
func (d *dual) centre(mu float64) bool {
	for r := range d.prices {
		least := mu / (1 + d.p.capacity[r])
		d.prices[r] = min(max(d.prices[r], least, 1e-15*d.ceiling), 0.999*d.ceiling)
	}
	value := d.smooth(d.prices, mu)
	for range maxSteps {
		d.newton()
		rise := 0.0
		length := 1.0
		for r, s := range d.step {
			rise += s * d.gradient[r]
			if s < 0 {
				length = min(length, -0.95*d.prices[r]/s)
			} else if s > 0 {
				length = min(length, 0.95*(d.ceiling-d.prices[r])/s)
			}
		}
		if rise <= decrement*decrement*mu {
			return true
		}
		next := math.Inf(-1)
		for range maxCuts {
			for r, s := range d.step {
				d.trial[r] = d.prices[r] + length*s
			}
			if next = d.smooth(d.trial, mu); next >= value+0.1*length*rise {
				break
			}
			length /= 3
		}
		if !(next > value) {
			d.smooth(d.prices, mu)
			return false
		}
		value = next
		copy(d.prices, d.trial)
	}
	return false
}

// smooth returns the smoothed function, and sets its gradient, its negative Hessian and the
// weights.
func (d *dual) smooth(prices []float64, mu float64) float64 {
	rows := len(prices)
	value := 0.0
	clear(d.hessian)
	for r, price := range prices {
		rest := d.ceiling - price
		value += mu*(math.Log(price)+math.Log(rest)) - price*d.p.capacity[r]
		d.gradient[r] = mu/price - mu/rest - d.p.capacity[r]
		d.hessian[r*rows+r] = mu/(price*price) + mu/(rest*rest)
	}
	for i, columns := range d.active {
		value += d.soften(i, columns, prices, mu)
	}
	return value
}

// soften returns the softmin of one group, and adds it to gradient and Hessian.
func (d *dual) soften(i int, columns []*column, prices []float64, mu float64) float64 {
	w := slices.Grow(d.weights[i][:0], len(columns))[:len(columns)]
	d.weights[i] = w
	least := math.Inf(1)
	for k, c := range columns {
		w[k] = c.at(prices)
		least = min(least, w[k])
	}
	sum, several := 0.0, 0
	for k := range w {
		// Below e^-40 a weight is lost in the rounding of the sum.
		if x := (w[k] - least) / mu; x < 40 {
			w[k] = math.Exp(-x)
			several++
		} else {
			w[k] = 0
		}
		sum += w[k]
	}
	rows := len(prices)
	clear(d.mean)
	for k, c := range columns {
		if w[k] == 0 {
			continue
		}
		w[k] /= sum
		for r, u := range c.use {
			if u == 0 {
				continue
			}
			d.mean[r] += w[k] * u
			if several > 1 {
				scaled := w[k] * u / mu
				for s, v := range c.use[:r+1] {
					d.hessian[r*rows+s] += scaled * v
				}
			}
		}
	}
	for r, m := range d.mean {
		d.gradient[r] += m
		if several > 1 && m != 0 {
			for s, v := range d.mean[:r+1] {
				d.hessian[r*rows+s] -= m * v / mu
			}
		}
	}
	return least - mu*math.Log(sum)
}

// newton solves hessian*step = gradient by Cholesky's method. The barriers
// keep the matrix positive definite; a pivot lost in rounding is lifted.
func (d *dual) newton() {
	rows := len(d.prices)
	l := d.factor
	for i := range rows {
		for j := range i + 1 {
			sum := d.hessian[i*rows+j]
			for k := range j {
				sum -= l[i*rows+k] * l[j*rows+k]
			}
			if i == j {
				l[i*rows+i] = math.Sqrt(max(sum, 1e-14*d.hessian[i*rows+i]))
			} else {
				l[i*rows+j] = sum / l[j*rows+j]
			}
		}
		sum := d.gradient[i]
		for k := range i {
			sum -= l[i*rows+k] * d.step[k]
		}
		d.step[i] = sum / l[i*rows+i]
	}
	for i := rows - 1; i >= 0; i-- {
		sum := d.step[i]
		for k := i + 1; k < rows; k++ {
			sum -= l[k*rows+i] * d.step[k]
		}
		d.step[i] = sum / l[i*rows+i]
	}
}

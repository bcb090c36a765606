package analyzer

import "math"

// geometric holds sums over the states of a queue of n places behind a busy server, where each
// state is x times as likely as the one before:
//
//	open   = x^0 + ... + x^(n-1)
//	last   = x^n
//	moment = 1 x^1 + 2 x^2 + ... + n x^n
//
// All three are multiplied with scale = min(1, x^-n), which keeps them finite above
// utilization 1.
type geometric struct {
	scale, open, last, moment float64
}

// newGeometric returns the sums for x = arrival/service and n places. It computes the distance of x
// from 1 from the two rates, not from their quotient, which keeps the sums accurate near
// utilization 1.
func newGeometric(arrival, service float64, n int) geometric {
	if arrival <= service {
		g := descending((service-arrival)/service, n)
		g.scale = 1
		return g
	}
	// Above 1 the sums begin with the full queue and use 1/x.
	g := descending((arrival-service)/arrival, n)
	return geometric{
		scale:  g.last,
		open:   g.open * service / arrival,
		last:   1,
		moment: float64(n)*(g.open+g.last) - g.moment,
	}
}

// descending returns the sums for x = 1-e with e in [0, 1], without scale.
func descending(e float64, n int) geometric {
	places := float64(n)
	if n == 0 {
		return geometric{last: 1}
	}
	if e == 0 {
		return geometric{open: places, last: 1, moment: places * (places + 1) / 2}
	}
	log := math.Log1p(-e)
	lost := -math.Expm1(places * log) // 1 - x^n
	g := geometric{open: lost / e, last: 1 - lost}
	if lost > 0.5 {
		g.last = math.Exp(places * log) // where 1-lost would cancel
	}
	if places*e >= 1 || e >= 0.1 {
		g.moment = (1 - e) * (g.open - places*g.last) / e
		return g
	}
	// Close to 1 that difference cancels. The mean of a geometric distribution cut off
	// at n, with d = log(x)/2 and the Langevin function L, does not:
	mean := (places + (places+1)*langevin((places+1)*log/2) - langevin(log/2)) / 2
	g.moment = mean * (g.open + g.last)
	return g
}

// langevin returns coth(z) - 1/z by its continued fraction (Lambert's, shifted by one term), exact
// to the last bit for |z| < 1.
func langevin(z float64) float64 {
	z2 := z * z
	f := 17.0
	for odd := 15.0; odd >= 3; odd -= 2 {
		f = odd + z2/f
	}
	return z / f
}

package analyzer

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// backlog is the distribution of the wait of a request that meets a full batch and j = 0 ..
// places-1 waiting requests, with a probability proportional to x^j. The request waits for j+1
// departures. A time m is in mean times between departures. With the Erlang distribution, and
// G_n(m) the probability of fewer than n departures in m, the probability to wait longer than m is
//
//	sum x^j G_(j+1)(m) / sum x^j
//	  = (e^(-m(1-x)) G_places(m x) - x^places G_places(m)) / (1 - x^places)
//
// at a cost that hardly depends on the number of places.
type backlog struct {
	x, short float64 // the ratio, below 1, and 1 - x
	places   int     // at least 1
	full     float64 // x^places
	open     float64 // sum of x^j
}

// newBacklog returns the backlog of s at an arrival rate below s.full().
func newBacklog(arrival float64, s states) backlog {
	service := s.full()
	g := newGeometric(arrival, service, s.queue)
	return backlog{
		x:      arrival / service,
		short:  (service - arrival) / service,
		places: s.queue,
		full:   g.last,
		open:   g.open,
	}
}

// fewPlaces is the largest number of places for which the sum is taken term by term. Above it, 1 -
// x^places is at least 0.06 for the rates of a QueueAnalyzer, and the difference in the closed form
// loses at most two digits.
const fewPlaces = 64

// beyond returns the probability to wait longer than m, which is at least 0.
func (b backlog) beyond(m float64) float64 {
	if b.places == 0 || m == 0 {
		return 1
	}
	if b.places <= fewPlaces {
		chance, fewer := math.Exp(-m), 0.0 // probabilities of i departures, of at most i
		power, sum := 1.0, 0.0
		for i := range b.places {
			fewer += chance
			sum += power * fewer
			power *= b.x
			chance *= m / float64(i+1)
		}
		return sum / b.open
	}
	n := float64(b.places)
	gone := math.Exp(-m*b.short) * upperGamma(n, m*b.x)
	return max(0, gone-b.full*upperGamma(n, m)) / (b.open * b.short)
}

// quantile returns the wait m that a share exceeding, below 1, of the requests exceeds.
func (b backlog) quantile(exceeding float64) float64 {
	// In an unbounded queue the wait is exponential, and longer.
	high := -math.Log(exceeding*b.open*b.short) / b.short
	if b.places == 1 {
		return -math.Log(exceeding)
	}
	r := rise(func(m float64) float64 { return relative(exceeding, b.beyond(m)) }, 0, high)
	return r.high
}

// upperGamma returns the regularized upper incomplete gamma function Q(n, m): for a whole n the
// probability that a Poisson variable of mean m is below n.
func upperGamma(n, m float64) float64 { return mathext.GammaIncRegComp(n, m) }

// relative compares two values of at least 0. It returns -1 to 1, 0 if they are equal, and rises
// with got. Searches use it because it is finite and nowhere flat.
func relative(got, want float64) float64 {
	if got == want {
		return 0
	}
	return (got - want) / (got + want)
}

package analyzer

import (
	"math"
	"strconv"
)

// Ending is the way in which a search for a rate ended.
type Ending int

// How a search ends.
const (
	NotSearched Ending = iota // there was no target
	Converged                 // the rate is at the target
	AtUpperEnd                // the target is met up to the end of the range
	OutOfReach                // the target is missed even at the least rate
)

// String returns the name of the ending.
func (e Ending) String() string {
	names := [...]string{"NotSearched", "Converged", "AtUpperEnd", "OutOfReach"}
	if e < 0 || int(e) >= len(names) {
		return "Ending(" + strconv.Itoa(int(e)) + ")"
	}
	return names[e]
}

// Search describes one search for a rate.
type Search struct {
	Ending      Ending
	Evaluations int // of the queue, each at one rate
}

const (
	// accuracy is the width of the final interval of a search relative to its larger end;
	// leastAccuracy is the width relative to the end of the range, for roots near 0.
	accuracy, leastAccuracy = 1e-12, 1e-18
	// patience is the number of evaluations after which a search only halves: about ten times the
	// usual number. Halving ends the search within 60 more.
	patience = 100
)

// bracket holds the sign change of a function: at most 0 at low, above 0 at high.
type bracket struct {
	low, high float64
	search    Search
}

// rounding is the largest |f| that counts as 0 at the ends of the range. It matters for functions
// that are constant over the range.
const rounding = 1e-12

// rise returns the bracket in which f, which never falls, passes 0 between low and high, 0 <= low <
// high. If f does not pass 0, both ends of the bracket are the end of the range with f nearest to
// 0.
//
// The method is Chandrupatla's (Advances in Engineering Software 28, 1997): inverse quadratic
// interpolation where the last three points allow it, halving elsewhere. It always keeps a bracket.
func rise(f func(float64) float64, low, high float64) bracket {
	fLow := f(low)
	if fLow > rounding {
		return bracket{low, low, Search{OutOfReach, 1}}
	}
	fHigh := f(high)
	if fHigh <= rounding {
		return bracket{high, high, Search{AtUpperEnd, 2}}
	}
	if fLow > 0 {
		return bracket{low, low, Search{Converged, 2}}
	}
	// a is the latest point, b the one on the other side of the root, d the one before.
	a, b, fa, fb := high, low, fHigh, fLow
	share := 0.5
	for used := 2; ; {
		x := a + share*(b-a)
		fx := f(x)
		used++
		d, fd := a, fa
		if (fx > 0) != (fa > 0) {
			d, fd, b, fb = b, fb, a, fa
		}
		a, fa = x, fx
		near := (accuracy*max(a, b) + leastAccuracy*high) / math.Abs(b-a)
		if near >= 1 || fa == 0 {
			return ends(a, fa, b, Search{Converged, used})
		}
		share = 0.5
		if used < patience {
			share = chandrupatla(a, fa, b, fb, d, fd)
			share = min(max(share, near/2), 1-near/2)
		}
	}
}

// chandrupatla returns the next point as a share of the way from a to b.
func chandrupatla(a, fa, b, fb, d, fd float64) float64 {
	xi, phi := (a-b)/(d-b), (fa-fb)/(fd-fb)
	if !(phi*phi < xi && (1-phi)*(1-phi) < 1-xi) {
		return 0.5
	}
	return fa/(fb-fa)*fd/(fb-fd) + (d-a)/(b-a)*fa/(fd-fa)*fb/(fd-fb)
}

// ends returns the bracket of the two points in order.
func ends(a, fa, b float64, s Search) bracket {
	switch {
	case fa == 0:
		return bracket{a, a, s}
	case fa > 0:
		return bracket{b, a, s}
	}
	return bracket{a, b, s}
}

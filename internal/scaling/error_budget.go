package scaling

import (
	"math"
	"time"
)

// Budget is the error budget of a model: how many of its requests missed their
// objective beside how many ended. What is long ago counts ever less. The zero value
// has counted nothing.
type Budget struct {
	At     time.Time `json:"at,omitzero"`      // of the last look
	Ended  float64   `json:"ended,omitempty"`  // requests
	Missed float64   `json:"missed,omitempty"` // of those, requests
	Hours  float64   `json:"hours,omitempty"`  // for which they were counted
}

// gapAtMost is the longest time between two looks, in windows over which rates are
// measured, for all of which the rates of the second count.
const gapAtMost = 5

// Then returns b after a look at s. A look at or before the last counts for nothing,
// and so does one at which it is not known how many requests missed. Without an objective
// nothing is counted.
func (b Budget) Then(s Snapshot, o Objective) Budget {
	if !o.Set() {
		return Budget{}
	}
	since := s.At.Sub(b.At)
	if since <= 0 {
		return b
	}
	first := b.At.IsZero()
	b.At = s.At
	missed, known := s.Missed(o)
	if first || !known || since > gapAtMost*max(s.Window, time.Minute) {
		return b
	}
	left, ended := math.Exp(-since.Hours()/o.Window().Hours()), s.Load.ended()*since.Seconds()
	b.Ended, b.Missed, b.Hours = left*b.Ended+ended, left*b.Missed+missed*ended, left*b.Hours+since.Hours()
	return b
}

// Attainment is the part of the requests that met the objective, and false where none
// was counted.
func (b Budget) Attainment() (float64, bool) {
	if !(b.Ended > 0) {
		return 0, false
	}
	return 1 - b.Missed/b.Ended, true
}

// Left is what is left of the budget, in hours: 0 where as many requests missed as may,
// all the hours that were counted where none did, and less than 0 where too many did.
func (b Budget) Left(o Objective) float64 {
	attained, known := b.Attainment()
	if !known {
		return 0
	}
	return b.Hours * (1 - (1-attained)/(1-o.Share()))
}

// Missed is the part of the requests that missed an objective, and false where that is
// not known. Requests that miss one are taken for no more likely to miss the other.
func (s Snapshot) Missed(o Objective) (float64, bool) {
	l, least := s.Load, s.leastITL()
	ttft, known := l.TTFTBuckets.Above(o.TTFT)
	if !known {
		return 0, false
	}
	itl, known := l.RequestITLBuckets.AboveWithin(o.ITL, l.ITL, least)
	if !known {
		// One of tokens: slow requests are a part of it that is too small, since a token
		// is late for a moment and a request for its whole length.
		if itl, known = l.ITLBuckets.AboveWithin(o.ITL, l.ITL, least); !known {
			return 0, false
		}
		itl = min(1, tokensToRequests*itl)
	}
	return ttft + itl - ttft*itl, true
}

// leastITL is the shortest ITL [ms] of the variants that serve, by their profiles, 0 where
// it is not known.
func (s Snapshot) leastITL() float64 {
	least := math.Inf(1)
	for _, v := range s.Variants {
		switch {
		case v.Replicas.Ready == 0:
		case !v.Profile.Usable():
			return 0
		default:
			least = min(least, v.Profile.Alpha+v.Profile.Beta)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// tokensToRequests is how many times as many requests miss an ITL as tokens do: 1.4 to
// 2.7 times on four recorded workloads.
const tokensToRequests = 2

// ended is how many requests per second got their first token, those that are counted.
func (l Load) ended() float64 {
	if l.TTFTBuckets.State >= Aging {
		return l.TTFTBuckets.Total
	}
	return l.ArrivalRate.Or(0)
}

package scaling

import (
	"math"
	"time"
)

// Budget is the error budget of a model: how many of its requests missed their objective, of how
// many that ended. Older requests count less and less. The zero value has counted none.
type Budget struct {
	At     time.Time `json:"at,omitzero"`      // of the last look
	Ended  float64   `json:"ended,omitempty"`  // requests
	Missed float64   `json:"missed,omitempty"` // requests among Ended
	Hours  float64   `json:"hours,omitempty"`  // time for which they were counted
}

// gapAtMost is the longest time between two looks, in windows over which rates are measured, that
// the rates of the second look stand for.
const gapAtMost = 5

// Then returns b updated by a look at s. A look counts for nothing if it is the first, is not later
// than the last, follows it by more than gapAtMost, or does not tell how many requests missed.
// Without an objective, Then returns the zero value.
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

// Attainment returns the part of the requests that met the objective, and false if none was
// counted.
func (b Budget) Attainment() (float64, bool) {
	if !(b.Ended > 0) {
		return 0, false
	}
	return 1 - b.Missed/b.Ended, true
}

// Left returns the hours left of the budget: all counted hours where no request missed, 0 where as
// many missed as may or none was counted, negative where more missed.
func (b Budget) Left(o Objective) float64 {
	attained, known := b.Attainment()
	if !known {
		return 0
	}
	return b.Hours * (1 - (1-attained)/(1-o.Share()))
}

// Missed returns the part of the requests that missed an objective, and false while unknown. It
// assumes that missing the TTFT and missing the ITL are independent.
func (s Snapshot) Missed(o Objective) (float64, bool) {
	l, variants := s.Load, s.itlOfVariants()
	ttft, known := l.TTFTBuckets.Above(o.TTFT)
	if !known {
		return 0, false
	}
	itl, known := l.RequestITLBuckets.AboveWithin(o.ITL, l.ITL, variants)
	if !known {
		// This one counts tokens. It understates slow requests: a token is late for a moment, a
		// request for its whole length.
		if itl, known = l.ITLBuckets.AboveWithin(o.ITL, l.ITL, variants); !known {
			return 0, false
		}
		itl = min(1, tokensToRequests*itl)
	}
	return ttft + itl - ttft*itl, true
}

// itlOfVariants returns the ITL [ms] of the serving variants by their profiles, each with its
// rate of tokens as its part; nil while unknown for one of them.
func (s Snapshot) itlOfVariants() []Component {
	running := map[VariantKey]float64{}
	for _, r := range s.Replicas {
		running[r.Variant] += r.Running.Or(0)
	}
	var out []Component
	for _, v := range s.Variants {
		switch p := v.Profile; {
		case v.Replicas.Ready == 0:
		case !p.Usable():
			return nil
		default:
			batch := max(1, running[v.Key]/float64(v.Replicas.Ready))
			itl := p.Alpha + p.Beta*batch
			// By Little's law the rate is that of the requests in batches over the time of each.
			out = append(out, Component{Part: batch * float64(v.Replicas.Ready) / itl, Mean: itl, Least: p.Alpha + p.Beta})
		}
	}
	return out
}

// tokensToRequests is the ratio of requests to tokens that miss an ITL: 1.4 to 2.7 on four recorded
// workloads.
const tokensToRequests = 2

// ended returns the counted requests/s that got their first token, or the arrival rate without TTFT
// buckets.
func (l Load) ended() float64 {
	if l.TTFTBuckets.State >= Aging {
		return l.TTFTBuckets.Total
	}
	return l.ArrivalRate.Or(0)
}

package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
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
func (b Budget) Then(s scaling.Snapshot, o scaling.Objective) Budget {
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
	left, ended := math.Exp(-since.Hours()/o.Window().Hours()), endedPerSecond(s.Load)*since.Seconds()
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
func (b Budget) Left(o scaling.Objective) float64 {
	attained, known := b.Attainment()
	if !known {
		return 0
	}
	return b.Hours * (1 - (1-attained)/(1-o.Share()))
}

// endedPerSecond returns the counted requests/s that got their first token, or the arrival rate without TTFT
// buckets.
func endedPerSecond(l scaling.Load) float64 {
	if l.TTFTBuckets.State >= scaling.Aging {
		return l.TTFTBuckets.Total
	}
	return l.ArrivalRate.Or(0)
}

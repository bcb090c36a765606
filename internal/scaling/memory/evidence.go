package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Evidence says how many requests of a model missed their objective at which utilization of its
// replicas, in the last minutes: sums over requests, in which older requests count less and less.
// The zero value has seen none. It is a value: no method changes it.
type Evidence struct {
	At       time.Time `json:"at,omitzero"` // of the last look
	Requests float64   `json:"requests,omitempty"`
	// Used is the sum of the utilizations that the requests met: the arrival rate over the rate
	// that the replicas serve within the objectives by their profiles.
	Used float64 `json:"used,omitempty"`
	// Cubed is the sum of the cubes of those utilizations; 0 in records of before.
	Cubed  float64 `json:"cubed,omitempty"`
	Missed float64 `json:"missed,omitempty"` // requests among Requests
	// Promised is the rate that the replicas served by their profiles at the last look, requests/s.
	Promised float64 `json:"promised,omitempty"`
	// Blind is the time until which misses are not counted, because replicas were new or overloaded
	// and misses say nothing else. Good looks still count.
	Blind time.Time `json:"blind,omitzero"`
}

const (
	// evidenceFades is the time in which the weight of the evidence falls by a factor e.
	evidenceFades = 15 * time.Minute
	// unseenFades is the same while no new evidence replaces it.
	unseenFades = 4 * time.Hour
	// blindFor is the number of windows after an overload or a start in which misses are not
	// counted.
	blindFor = 2
	// busyFrom is the utilization of the believed rate from which few misses predict the effect of more
	// load, and overloadFrom the one above which a queue means an overload.
	busyFrom, overloadFrom = 0.4, 1.25
	// newAtMost is the largest growth of the promised rate between looks, a ratio, that does not
	// mean new replicas: new replicas do not have their share of the load yet.
	newAtMost = 0.1
)

// Then returns e updated by a look at s. promised is the rate [requests/s] that the profiles of the
// replicas promise, believed the factor on it that replicas are sized with. queued says that more
// requests wait than there are replicas, overdrawn that more requests missed lately than may.
func (e Evidence) Then(s scaling.Snapshot, o scaling.Objective, promised, believed float64, queued, overdrawn bool) Evidence {
	since := s.At.Sub(e.At)
	if since <= 0 {
		return e
	}
	first := e.At.IsZero()
	e.At = s.At
	used, grew := s.Load.ArrivalRate.Or(0)/promised, promised > (1+newAtMost)*e.Promised
	if first {
		grew, since = s.Young(), s.Window
	}
	e.Promised = promised
	if grew || queued && used > overloadFrom*believed {
		e.Blind = s.At.Add(blindFor * s.Window)
	}
	missed, known := s.Missed(o)
	// While replicas are new, the others carry more than is counted. If they still do well, that is
	// valid.
	well := missed <= 1-o.Share() && !queued && used*e.Requests >= e.Used
	// What does well at a low utilization says nothing about a higher one. What misses there, while the
	// error budget is overdrawn, contradicts a belief that would keep the utilization low for ever.
	idle := used < busyFrom*believed && !(overdrawn && missed > 1-o.Share())
	if !known || idle || s.At.Before(e.Blind) && !well {
		return e.faded(since, unseenFades)
	}
	n := endedPerSecond(s.Load) * min(since, gapAtMost*max(s.Window, time.Minute)).Seconds()
	return e.faded(since, evidenceFades).add(n, used, missed)
}

// Steepness is the power of the utilization with which the part of missed requests grows. A model of
// a queue gives a larger one; but long prompts and bursts miss at half of the load, too.
const Steepness = 3

// Utilization returns the constant utilization at which as many requests would have missed as at
// those that they met: the mean of the power Steepness. It is above the mean where load comes in
// bursts, since most requests miss there. 0 if no request was seen.
func (e Evidence) Utilization() float64 {
	switch {
	case !(e.Requests > 0):
		return 0
	case e.Cubed > 0:
		return math.Cbrt(e.Cubed / e.Requests)
	}
	return e.Used / e.Requests
}

// add returns e with n more requests, of which missed is the part that missed, at a utilization.
func (e Evidence) add(n, used, missed float64) Evidence {
	e.Requests, e.Used, e.Cubed, e.Missed = e.Requests+n, e.Used+n*used, e.Cubed+n*math.Pow(used, Steepness), e.Missed+n*missed
	return e
}

// faded returns e with less weight on the evidence so far.
func (e Evidence) faded(since, constant time.Duration) Evidence {
	left := math.Exp(-since.Seconds() / constant.Seconds())
	e.Requests, e.Used, e.Cubed, e.Missed = left*e.Requests, left*e.Used, left*e.Cubed, left*e.Missed
	return e
}

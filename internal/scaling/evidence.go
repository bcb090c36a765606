package scaling

import (
	"math"
	"time"
)

// Evidence is how many of the requests of a model missed their objective at which
// utilization of its replicas, in the last minutes: sums over requests, in which the
// past counts ever less. The zero value has seen none. It is a value: no method changes it.
type Evidence struct {
	At       time.Time `json:"at,omitzero"` // of the last look
	Requests float64   `json:"requests,omitempty"`
	// Used is the sum of the utilizations that the requests met: what arrived beside what
	// the replicas serve within the objectives by their profiles, a ratio.
	Used   float64 `json:"used,omitempty"`
	Missed float64 `json:"missed,omitempty"` // of the requests
	// Promised is what the replicas served by their profiles at the last look, requests/s.
	Promised float64 `json:"promised,omitempty"`
	// Blind is until when misses are not counted: replicas were new, or more arrived than
	// they serve, and what is missed tells of that.
	Blind time.Time `json:"blind,omitzero"`
}

const (
	// evidenceFades is how long it takes what was seen to count e times less.
	evidenceFades = 15 * time.Minute
	// unseenFades is the same while nothing is seen that would replace it.
	unseenFades = 4 * time.Hour
	// blindFor is for how many windows nothing is seen after an overload or a start.
	blindFor = 2
	// busyFrom is the utilization from which on misses tell what more load would do, and
	// overloadFrom that from which on a queue is of an overload.
	busyFrom, overloadFrom = 0.4, 1.25
	// newAtMost is by which part what is promised may grow from look to look: replicas
	// that are new have not got their share yet.
	newAtMost = 0.1
)

// Then returns e after a look at s, at which the replicas promised to serve so many
// requests/s by their profiles and were given believed times that; queued says that more
// requests waited than there are replicas.
func (e Evidence) Then(s Snapshot, o Objective, promised, believed float64, queued bool) Evidence {
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
	// While replicas are new, the others had more to do than is counted: that they did well
	// is no less true.
	well := missed <= 1-o.Share() && !queued && used*e.Requests >= e.Used
	if !known || used < busyFrom*believed || s.At.Before(e.Blind) && !well {
		return e.faded(since, unseenFades)
	}
	e = e.faded(since, evidenceFades)
	n := s.Load.ended() * min(since, gapAtMost*max(s.Window, time.Minute)).Seconds()
	e.Requests, e.Used, e.Missed = e.Requests+n, e.Used+n*used, e.Missed+n*missed
	return e
}

// faded returns e with what was seen counting less.
func (e Evidence) faded(since, constant time.Duration) Evidence {
	left := math.Exp(-since.Seconds() / constant.Seconds())
	e.Requests, e.Used, e.Missed = left*e.Requests, left*e.Used, left*e.Missed
	return e
}

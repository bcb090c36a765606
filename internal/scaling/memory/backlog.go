package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Backlog counts the waiting requests of a model, at the gateway and in replicas, and says whether
// they decreased. The zero value was never measured.
type Backlog struct {
	Waiting float64   `json:"waiting,omitempty"` // requests
	At      time.Time `json:"at,omitzero"`
	Falling bool      `json:"falling,omitempty"` // fewer than in the Backlog before
	// StandsSince is the time since which requests have waited at every look without a decrease;
	// zero while none wait or their number falls.
	StandsSince time.Time `json:"standsSince,omitzero"`
}

// Then returns b updated by waiting requests at now. It changes at most once per span, so that a
// brief dip does not count as a decrease.
func (b Backlog) Then(waiting float64, now time.Time, span time.Duration) Backlog {
	if !b.At.IsZero() && now.Sub(b.At) < span {
		return b
	}
	next := Backlog{Waiting: waiting, At: now, Falling: !b.At.IsZero() && waiting < b.Waiting}
	if waiting > 0 && !next.Falling {
		next.StandsSince = b.StandsSince
		if next.StandsSince.IsZero() {
			next.StandsSince = now
		}
	}
	return next
}

// latest returns the later backlog; of equal times the one with more waiting requests, then the one
// that is not falling.
func (b Backlog) latest(other Backlog) Backlog {
	later := other.At.After(b.At)
	if other.At.Equal(b.At) {
		later = other.Waiting > b.Waiting || other.Waiting == b.Waiting && b.Falling && !other.Falling
	}
	if later {
		return other
	}
	return b
}

// Stands reports whether requests have waited for at least long without a decrease.
func (b Backlog) Stands(now time.Time, long time.Duration) bool {
	return !b.StandsSince.IsZero() && now.Sub(b.StandsSince) >= long
}

// clearWithin is the time in which a backlog should clear, from when a replica ordered now is
// Ready. It is longer than the spare room of every sizing takes to clear the requests that wait
// during a start-up, so that a start-up alone orders nothing more; and no longer than users wait
// for a service to recover.
const clearWithin = 10 * time.Minute

// Queue describes arrivals and waiting requests while replicas serve, to size replicas for.
type Queue struct {
	Waiting float64 // requests
	Arrive  float64 // requests/s
	Served  float64 // requests/s that running and ordered replicas can complete
	// Fill is the part of the replicas' largest completion rate that arrivals may use, in (0, 1].
	Fill float64
	Lead time.Duration // until a replica that is ordered now is Ready
}

// Rate returns the requests/s to size replicas for: the arrival rate, or the rate that clears the
// backlog ten minutes after a replica ordered now is Ready. A backlog is worked off by full
// batches, so the spare room that Fill leaves counts:
//
//	rate = max(arrive, fill (arrive + left / 10 min))
//	left = waiting - lead (max(served, arrive / fill) - arrive)
func (q Queue) Rate() float64 {
	left := q.Waiting - q.Lead.Seconds()*max(0, max(q.Served, q.Arrive/q.Fill)-q.Arrive)
	return max(q.Arrive, q.Fill*(q.Arrive+max(0, left)/clearWithin.Seconds()))
}

// Lead returns the time until a replica that the next cycle orders is Ready: the longest known
// start-up of the variants, interval and syncPeriod; 0 while no start-up is known.
func Lead(variants []scaling.Variant, interval time.Duration) time.Duration {
	longest := time.Duration(0)
	for _, v := range variants {
		longest = max(longest, v.StartUp)
	}
	if longest == 0 {
		return 0
	}
	return longest + interval + syncPeriod
}

// syncPeriod is the longest time that a scaler takes to read a decision: the sync period of a
// HorizontalPodAutoscaler.
const syncPeriod = 15 * time.Second

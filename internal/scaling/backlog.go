package scaling

import "time"

// Backlog is how many requests of a model waited, at the gateway and in
// replicas, and whether they became fewer. The zero value is one never seen.
type Backlog struct {
	Waiting float64   `json:"waiting,omitempty"` // requests
	At      time.Time `json:"at,omitzero"`
	Falling bool      `json:"falling,omitempty"` // fewer than those of the Backlog before
	// StandsSince is from when on requests have waited at every look, and were never
	// fewer than at the look before. It is zero while none wait or fewer do.
	StandsSince time.Time `json:"standsSince,omitzero"`
}

// Then returns b after so many requests wait at now. It changes once a span, so
// that two which are compared lie apart: a momentary gap is no trend.
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

// latest returns the later one, else the one with more waiting requests, then the one that is not
// falling.
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

// Stands reports whether requests have waited for so long, and did not become fewer.
func (b Backlog) Stands(now time.Time, long time.Duration) bool {
	return !b.StandsSince.IsZero() && now.Sub(b.StandsSince) >= long
}

// clearWithin is how soon a backlog is to be gone, from when a replica that is
// ordered now is Ready: longer than what waits while replicas start takes to clear
// by the room that every sizing leaves, so that a start-up alone orders nothing on
// top, and no longer than users wait for a service to be itself again.
const clearWithin = 10 * time.Minute

// Queue is what arrives and waits while replicas serve, for the rate that they are to
// be sized for.
type Queue struct {
	Waiting float64 // requests
	Arrive  float64 // requests/s
	Served  float64 // requests/s that what runs and was ordered completes at most
	// Fill is the part of what replicas complete at most up to which they are filled
	// by what arrives, a ratio in (0, 1].
	Fill float64
	Lead time.Duration // until a replica that is ordered now is Ready
}

// Rate returns the requests/s to size replicas for: what arrives, or as much as it
// takes for what waits to be gone ten minutes after a replica that is ordered now is
// Ready. A backlog is worked off by full batches, so that the room which the fill
// leaves counts:
//
//	rate = max(arrive, fill (arrive + left / 10 min))
//	left = waiting - lead (max(served, arrive / fill) - arrive)
func (q Queue) Rate() float64 {
	left := q.Waiting - q.Lead.Seconds()*max(0, max(q.Served, q.Arrive/q.Fill)-q.Arrive)
	return max(q.Arrive, q.Fill*(q.Arrive+max(0, left)/clearWithin.Seconds()))
}

// Lead returns how long a replica of the variants takes from its order to Ready, by
// the longest start-up that is known, and the interval until the next cycle; 0 while
// no start-up is known.
func Lead(variants []Variant, interval time.Duration) time.Duration {
	longest := time.Duration(0)
	for _, v := range variants {
		longest = max(longest, v.StartUp)
	}
	if longest == 0 {
		return 0
	}
	return longest + interval + syncPeriod
}

// syncPeriod is how long the scaler of a target may take to learn a decision: the
// sync period of a HorizontalPodAutoscaler.
const syncPeriod = 15 * time.Second

package budget

import "time"

// Allowance limits the events of a namespace by a token bucket. It starts full, with the events of
// one hour, and refills at that rate. The zero value is full.
type Allowance struct {
	used float64 // events, >= 0; refilling reduces it
	at   time.Time
	left int
}

// Take returns the allowance after one more event at now, and whether that event may be
// sent. perHour is > 0. A clock that goes back refills nothing.
func (a Allowance) Take(now time.Time, perHour int) (Allowance, bool) {
	a = a.filled(now, perHour)
	if a.used+1 > float64(perHour) {
		a.left++
		return a, false
	}
	a.used++
	return a, true
}

// Full reports whether it is full at now, so that it equals the zero value.
func (a Allowance) Full(now time.Time, perHour int) bool { return a.filled(now, perHour).used == 0 }

// LeftOut returns how many events were not sent since it was last full.
func (a Allowance) LeftOut() int { return a.left }

// filled returns the allowance at now.
func (a Allowance) filled(now time.Time, perHour int) Allowance {
	if since := now.Sub(a.at); since > 0 {
		a.used, a.at = max(a.used-since.Hours()*float64(perHour), 0), now
	}
	if a.used == 0 {
		a.left = 0
	}
	return a
}

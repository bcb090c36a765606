package cache

import "time"

// Lifetime decides how long an entry lives.
type Lifetime interface {
	// TTL returns how long to keep an entry, given the TTL of its predecessor (0 if there is none)
	// and how far its readings have moved since: from 0 for no change to 1 for the largest, or for
	// no predecessor.
	TTL(last time.Duration, moved float64) time.Duration
	// Longest returns the largest value that TTL returns now. Readings stay Fresh for as long as an
	// answer may be kept, so it limits the changes that a Fresh reading can hide.
	Longest() time.Duration
}

// Fixed keeps every entry for the same time.
type Fixed time.Duration

// DefaultTTL is how long an entry lives unless configured otherwise.
const DefaultTTL = Fixed(30 * time.Second)

// TTL implements Lifetime.
func (f Fixed) TTL(time.Duration, float64) time.Duration { return time.Duration(f) }

// Longest implements Lifetime.
func (f Fixed) Longest() time.Duration { return time.Duration(f) }

// Following keeps entries for the optimization interval, so that measuring is no more frequent than
// deciding.
type Following struct {
	// Interval returns the present interval, > 0.
	Interval func() time.Duration
	// Most limits the result: a reading is not true for longer than a few minutes, whatever the
	// interval. 0 means 2m.
	Most time.Duration
}

// mostFollowed is the default of Following.Most.
const mostFollowed = 2 * time.Minute

// TTL implements Lifetime.
func (f Following) TTL(time.Duration, float64) time.Duration { return f.Longest() }

// Longest implements Lifetime.
func (f Following) Longest() time.Duration {
	most := f.Most
	if most <= 0 {
		most = mostFollowed
	}
	return min(f.Interval(), most)
}

// Adaptive keeps the entries of a steady model longer and those of a changing one shorter: the time
// doubles, up to Max, while readings hardly move, and returns to Min at once when they jump.
type Adaptive struct {
	Min, Max time.Duration // 0 < Min <= Max
}

// Readings that move by less than quiet double the time; those that move by jump or more reset it
// to Min. In between it stays.
const (
	quiet = 0.05
	jump  = 0.25
)

// TTL implements Lifetime.
func (a Adaptive) TTL(last time.Duration, moved float64) time.Duration {
	switch {
	case last <= 0 || !(moved < jump):
		return a.Min
	case moved < quiet:
		return min(max(2*last, a.Min), a.Max)
	default:
		return min(max(last, a.Min), a.Max)
	}
}

// Longest implements Lifetime.
func (a Adaptive) Longest() time.Duration { return a.Max }

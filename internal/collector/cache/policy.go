package cache

import "time"

// Lifetime decides how long an entry lives.
type Lifetime interface {
	// TTL returns for how long to keep an entry, given that of its predecessor (0
	// if there is none) and how far its readings have moved since: 0 for not at
	// all, 1 for by as much as they can or from nothing.
	TTL(last time.Duration, moved float64) time.Duration
	// Longest returns the most that TTL returns now. Readings stay Fresh for as
	// long as an answer may be kept, so it bounds what a Fresh reading can hide.
	Longest() time.Duration
}

// Fixed keeps every entry for the same time.
type Fixed time.Duration

// DefaultTTL is how long an entry lives unless something else is configured.
const DefaultTTL = Fixed(30 * time.Second)

// TTL implements Lifetime.
func (f Fixed) TTL(time.Duration, float64) time.Duration { return time.Duration(f) }

// Longest implements Lifetime.
func (f Fixed) Longest() time.Duration { return time.Duration(f) }

// Following keeps entries for as long as the optimization interval is, so that
// measuring is no more frequent than deciding.
type Following struct {
	// Interval returns the present interval, > 0.
	Interval func() time.Duration
	// Most bounds the result: beyond a few minutes no interval makes a reading
	// true. 0 means 2m.
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

// Adaptive keeps the entries of a quiet model longer and those of a moving one
// shorter: a model whose readings hardly move doubles the time, up to Max, and
// one whose readings jump returns to Min at once.
type Adaptive struct {
	Min, Max time.Duration // 0 < Min <= Max
}

// How far readings move to be quiet, or to jump. In between the time stays.
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

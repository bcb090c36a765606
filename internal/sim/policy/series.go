package policy

import (
	"slices"
	"time"
)

// sample is a value at an instant.
type sample struct {
	at    time.Time
	value float64
}

// series holds samples, in the order of time unless store has been used.
type series []sample

// add appends a sample and forgets those that are older than keep.
func (s *series) add(at time.Time, value float64, keep time.Duration) {
	cutoff := at.Add(-keep)
	*s = slices.DeleteFunc(*s, func(o sample) bool { return o.at.Before(cutoff) })
	*s = append(*s, sample{at, value})
}

// store replaces the last sample that is older than keep, and appends if there is none. Other older
// samples stay.
func (s *series) store(at time.Time, value float64, keep time.Duration) {
	cutoff := at.Add(-keep)
	for i := len(*s) - 1; i >= 0; i-- {
		if (*s)[i].at.Before(cutoff) {
			(*s)[i] = sample{at, value}
			return
		}
	}
	*s = append(*s, sample{at, value})
}

// mean returns the mean of the samples of the last window: those after now - window, up to now. 0
// for none.
func (s series) mean(now time.Time, window time.Duration) float64 {
	var sum float64
	var n int
	for _, o := range s {
		if o.at.After(now.Add(-window)) {
			sum += o.value
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// peak returns the largest value of the last window, and whether there is any.
func (s series) peak(now time.Time, window time.Duration) (value float64, ok bool) {
	for _, o := range s {
		if o.at.After(now.Add(-window)) {
			value, ok = max(value, o.value), true
		}
	}
	return value, ok
}

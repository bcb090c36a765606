package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Want is a number of replicas that cycles wanted of a variant.
type Want struct {
	Replicas scaling.Replicas `json:"replicas"`
	// Until is when another number was wanted instead, zero while this one still is.
	Until time.Time `json:"until,omitzero"`
}

// Wants remembers the numbers of replicas that cycles wanted of a variant, as far as they matter
// for the largest and the smallest since a time. A number lasts until another is wanted. The zero
// value remembers nothing.
//
// It is a sliding maximum and a sliding minimum over one sequence: a number is forgotten once a
// later one is as high, or as low, so each list holds every number at most once. It is a value: no
// method changes it.
type Wants struct {
	Most  []Want `json:"most,omitempty"`  // descending Replicas, ascending Until; the last is wanted now
	Least []Want `json:"least,omitempty"` // ascending Replicas, ascending Until; the last is wanted now
}

// Known reports whether anything is remembered.
func (w Wants) Known() bool { return len(w.Most) > 0 }

// Then returns w after n replicas were wanted at now, without numbers that ended more than keep
// before now. now must not be earlier than in the call before.
func (w Wants) Then(n scaling.Replicas, now time.Time, keep time.Duration) Wants {
	from := now.Add(-keep)
	return Wants{
		Most:  then(w.Most, n, now, from, func(a, b scaling.Replicas) bool { return a > b }),
		Least: then(w.Least, n, now, from, func(a, b scaling.Replicas) bool { return a < b }),
	}
}

// MostSince returns the highest number that was wanted at any time after since, even if it was
// first wanted earlier; zero where nothing is Known.
func (w Wants) MostSince(since time.Time) Want { return first(w.Most, since) }

// LeastSince returns the lowest number that was wanted at any time after since.
func (w Wants) LeastSince(since time.Time) Want { return first(w.Least, since) }

// then appends n to wants, in which each beats the next. It drops those that do not beat n and
// those that ended by from.
func then(wants []Want, n scaling.Replicas, now, from time.Time, beats func(a, b scaling.Replicas) bool) []Want {
	out := make([]Want, 0, len(wants)+1)
	for i, w := range wants {
		if i == len(wants)-1 {
			w.Until = now
		}
		if beats(w.Replicas, n) && w.Until.After(from) {
			out = append(out, w)
		}
	}
	return append(out, Want{Replicas: n})
}

// first returns the first want that lasted beyond since, or else the last one, which still lasts.
// It is the best, because each beats the next.
func first(wants []Want, since time.Time) Want {
	for i, w := range wants {
		if i == len(wants)-1 || w.Until.After(since) {
			return w
		}
	}
	return Want{}
}

// Now returns the number that is wanted now, and false where nothing is Known.
func (w Wants) Now() (scaling.Replicas, bool) {
	if !w.Known() {
		return 0, false
	}
	return w.Most[len(w.Most)-1].Replicas, true
}

package workload

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Profile is a sequence of segments: the arrival rate over time. The zero value
// is empty and has no arrivals. A Profile is immutable.
type Profile struct {
	segments []Segment
}

// NewProfile returns the profile in which the segments follow each other. The
// error names the first segment that is out of range.
func NewProfile(segments ...Segment) (Profile, error) {
	if len(segments) == 0 {
		return Profile{}, errors.New("a profile needs at least one segment")
	}
	var total time.Duration
	for i, s := range segments {
		if err := s.check(); err != nil {
			return Profile{}, fmt.Errorf("segment %d, %s: %w", i+1, s, err)
		}
		total += s.Length()
		if total > maxDuration {
			return Profile{}, fmt.Errorf("segment %d, %s: the profile is longer than %s", i+1, s, spelling.Duration(maxDuration))
		}
	}
	return Profile{segments: slices.Clone(segments)}, nil
}

// Segments returns a copy of the profile's segments, in order.
func (p Profile) Segments() []Segment { return slices.Clone(p.segments) }

// String returns the profile in the grammar of ParseProfile, which parses it to an equal profile.
func (p Profile) String() string {
	words := make([]string, len(p.segments))
	for i, s := range p.segments {
		words[i] = s.String()
	}
	return strings.Join(words, ",")
}

// Duration returns the sum of the segments' durations.
func (p Profile) Duration() time.Duration {
	var total time.Duration
	for _, s := range p.segments {
		total += s.Length()
	}
	return total
}

// RateAt returns the mean arrival rate at t, in requests/s; 0 outside [0, Duration).
func (p Profile) RateAt(t time.Duration) float64 {
	if t < 0 {
		return 0
	}
	for _, s := range p.segments {
		if t < s.Length() {
			return s.RateAt(t.Seconds())
		}
		t -= s.Length()
	}
	return 0
}

// ArrivalsBy returns the expected number of arrivals in [0, t].
func (p Profile) ArrivalsBy(t time.Duration) float64 {
	var sum float64
	for _, s := range p.segments {
		if t <= 0 {
			break
		}
		sum += s.ArrivalsBy(min(t, s.Length()).Seconds())
		t -= s.Length()
	}
	return sum
}

// Arrivals returns the times of one run since its start: not decreasing, each
// in [0, Duration). Segments are independent of each other. The sequence draws
// from rng and can be consumed once.
func (p Profile) Arrivals(rng *rand.Rand) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var start, last time.Duration
		for _, s := range p.segments {
			end := start + s.Length()
			more := s.arrivals(rng, func(t float64) bool {
				// Rounding must not move an arrival out of its segment or
				// before an earlier one.
				at := start + time.Duration(t*float64(time.Second))
				last = max(last, min(at, end-1))
				return yield(last)
			})
			if !more {
				return
			}
			start = end
		}
	}
}

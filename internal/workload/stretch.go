package workload

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// Stretch is a part of a workload in which neither the arrival rate nor the
// lengths change.
type Stretch struct {
	Duration time.Duration // > 0
	Rate     float64       // requests/s, >= 0
	Lengths  Lengths       // unused where Rate is 0
}

// Stretches is a measured workload: stretches that follow each other.
type Stretches struct {
	profile Profile
	lengths []Lengths // of each segment of the profile
}

// NewStretches returns the workload of one stretch or more. The error names the first stretch that
// is out of range.
func NewStretches(all []Stretch) (Stretches, error) {
	segments := make([]Segment, len(all))
	lengths := make([]Lengths, len(all))
	for i, s := range all {
		if s.Rate > 0 && (s.Lengths.Input == nil || s.Lengths.Output == nil) {
			return Stretches{}, fmt.Errorf("stretch %d has %s requests/s without lengths: want both", i+1, number(s.Rate))
		}
		segments[i], lengths[i] = Constant{Rate: s.Rate, Duration: s.Duration}, s.Lengths
	}
	if len(all) == 0 {
		return Stretches{}, errors.New("no stretches: want one or more")
	}
	p, err := NewProfile(segments...)
	return Stretches{p, lengths}, err
}

// Duration returns the sum of the stretches' durations.
func (s Stretches) Duration() time.Duration { return s.profile.Duration() }

// Generate returns the requests of one run, in order of arrival: Poisson within each stretch. The
// sequence is a function of s and the state of rng and can be consumed once; lengths have their own
// random stream.
func (s Stretches) Generate(rng *rand.Rand) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		draws := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		i, end := -1, time.Duration(0) // the stretch of the last arrival, and its end
		for at := range s.profile.Arrivals(rng) {
			for at >= end {
				i++
				end += s.profile.segments[i].Length()
			}
			l := s.lengths[i]
			if !yield(Request{At: at, InputTokens: l.Input.Draw(draws), OutputTokens: l.Output.Draw(draws)}) {
				return
			}
		}
	}
}

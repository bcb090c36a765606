package clairvoyant

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Script is a policy with a fixed schedule. It can be run any number of times, also side by side.
type Script struct {
	Tick  time.Duration // between two entries of Lines
	Lines []Line        // of each variant that it changes
}

// Line is the replicas of one variant over time.
type Line struct {
	Variant  scaling.VariantKey
	Replicas []int32 // wanted at 1 tick, 2 ticks, ...; the last one holds until the end
}

// Name returns "clairvoyant".
func (s Script) Name() string { return "clairvoyant" }

// Interval returns the tick.
func (s Script) Interval() time.Duration { return s.Tick }

// Policy returns the script as a policy for one run.
func (s Script) Policy() sim.Policy { return &reader{Script: s} }

// Changes returns how often the number of replicas of a variant changes.
func (l Line) Changes() int {
	n := 0
	for i := 1; i < len(l.Replicas); i++ {
		if l.Replicas[i] != l.Replicas[i-1] {
			n++
		}
	}
	return n
}

// at returns the replicas that a script wants of a variant at a tick, or otherwise if it has no
// line of the variant.
func (s Script) at(v scaling.VariantKey, tick int, otherwise int32) int32 {
	for _, l := range s.Lines {
		if l.Variant == v && len(l.Replicas) > 0 {
			return l.Replicas[min(tick, len(l.Replicas)-1)]
		}
	}
	return otherwise
}

// clone returns a copy that shares nothing.
func (s Script) clone() Script {
	s.Lines = slices.Clone(s.Lines)
	for i := range s.Lines {
		s.Lines[i].Replicas = slices.Clone(s.Lines[i].Replicas)
	}
	return s
}

// reader reads a script tick by tick.
type reader struct {
	Script
	read int // ticks
}

// Decide implements sim.Policy.
func (r *reader) Decide(sim.View) ([]sim.Target, error) {
	targets := make([]sim.Target, len(r.Lines))
	for i, l := range r.Lines {
		n := l.Replicas[min(r.read, len(l.Replicas)-1)]
		targets[i] = sim.Target{Variant: l.Variant, Replicas: scaling.Replicas(n), Reason: "Clairvoyant", Detail: "the schedule says so"}
	}
	r.read++
	return targets, nil
}

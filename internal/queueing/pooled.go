package queueing

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// An analyzer.QueueAnalyzer takes a replica to be a queue of its own, at which requests arrive at
// random. The prompts of a disaggregated model always pass an endpoint picker, which sends each to
// a replica with a short queue. n replicas of prefill then wait almost as n servers behind one
// queue do: at the same utilization far less than each alone, or as long at a higher one.

// pool raises the rates of prefill replicas by the gain from the endpoint picker: to those of the
// fewest replicas that serve all that arrives.
func pool(sized []sizing, load load) {
	for i, s := range sized {
		if !s.pools() || s.rate <= 0 || s.fixed {
			continue
		}
		for n := 1.0; n*sized[i].rate < load.rate && n < mostPooled; n++ {
			sized[i].rate = s.pooled(s.rate, n+1)
		}
	}
}

// mostPooled limits the replicas that are tried: the gain of more is below a thousandth.
const mostPooled = 1000

// pools reports whether requests reach the replicas of s by an endpoint picker.
func (s sizing) pools() bool { return s.variant.Role == scaling.RolePrefill && s.most > 0 }

// pooled returns the rate at which each of n replicas waits as long as one replica alone does at
// the rate alone.
func (s sizing) pooled(alone, n float64) float64 {
	wait := sharedWait(alone/s.most, 1)
	low, high := min(alone/s.most, fullest), fullest
	for range 40 {
		if middle := (low + high) / 2; sharedWait(middle, n) < wait {
			low = middle
		} else {
			high = middle
		}
	}
	return max(alone, low*s.most)
}

// alone returns the rate at which one replica alone waits as long as each of n does at a rate, the
// reverse of pooled.
func (s sizing) alone(rate float64) float64 {
	ready, _ := s.replicas()
	if u := rate / s.most; s.pools() && ready > 1 && u < 1 {
		wait := sharedWait(u, ready)
		return s.most * wait / (1 + wait)
	}
	return rate
}

// sharedWait is the mean wait at n servers behind one queue, each at utilization u in [0, 1), as a
// multiple of a factor for the variation of arrivals and services (Sakasegawa's approximation for
// G/G/n, Annals of the Institute of Statistical Mathematics 29, 1977).
func sharedWait(u, n float64) float64 {
	return math.Pow(u, math.Sqrt(2*(n+1))-1) / (n * (1 - u))
}

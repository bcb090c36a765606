package queueing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// steepness is the power of the load with which misses grow: less than by a model of
	// a queue, since long prompts and bursts miss at half of the load too.
	steepness = 3
	// reach is how many times the load that was seen a replica is given at most: beyond it
	// may be a cliff.
	reach = 1.25
	// learnedMost bounds what is learned.
	learnedMost = 10
	// fewestMissed is the part of the requests below which fewer misses say no more.
	fewestMissed = 0.005
	// halfBelieved is of how many requests half of what they say is believed.
	halfBelieved = 200
)

// Learn returns the traffic with what snap says of the replicas by the analysis of it.
func Learn(past scaling.Traffic, snap scaling.Snapshot, o scaling.Objective, a scaling.Analysis) scaling.Traffic {
	past.Evidence = witnessed(past.Evidence, snap, o, a.Promised)
	return past
}

// witnessed returns the evidence after a look at snap, whose replicas promise so many
// requests/s, 0 where that is not known.
func witnessed(past scaling.Evidence, snap scaling.Snapshot, o scaling.Objective, promised float64) scaling.Evidence {
	if !(promised > 0) {
		return past
	}
	return past.Then(snap, o, promised, learned(past, o, 1), snap.Waiting() > serving(snap.Variants, time.Time{}))
}

// learned is how many times what its profile promises a replica is given: by the error
// budget, and by what was seen, which counts for 1 to learnedMost. A profile that is fitted
// to two points of a benchmark promises too little where few requests are computed together
// and prompts are long: one request more is a large step there, while the latency of a
// request is the mean over many. Of the requests that met replicas used to u times what is
// promised a part m missed the objective, and a part a may:
//
//	seen = u (a / m)^(1/3),   at most 1.25 u
//
// so that more load is tried in steps, each once the one before was seen to do. Where the
// budget is overdrawn its allowance, less than 1, counts for what is allowed instead: where
// next to none misses at the load of now, more replicas would pay nothing back. That a
// profile promises too much is not learned here, but by the error budget: misses of
// bursts and of late starts look the same.
func learned(e scaling.Evidence, o scaling.Objective, allowance float64) float64 {
	if !(e.Requests > 0) {
		return allowance
	}
	allowed := 1 - o.Share()
	missed := max(fewestMissed, (e.Missed+1)/(e.Requests+1/allowed)) // as if one more had missed, of as few as may have one
	overdrawn := min(1, allowance)
	seen := e.Used / e.Requests * min(reach, overdrawn*math.Pow(allowed/missed, 1.0/steepness))
	believed := e.Requests / (e.Requests + halfBelieved)
	return allowance * math.Pow(max(1, min(learnedMost, seen)/overdrawn), believed)
}

// byProfile is how many requests/s the Ready replicas serve within the objective by their
// profiles, 0 where one does not say or cannot keep it.
func byProfile(sized []sizing) float64 {
	if slices.ContainsFunc(sized, func(s sizing) bool { return s.infeasible != nil || !s.usable }) {
		return 0
	}
	sum := 0.0
	for _, s := range sized {
		ready, _ := s.replicas()
		sum += ready * s.rate
	}
	return sum
}

// told says in words what was learned, "" where that is nothing.
func told(e scaling.Evidence, times float64) string {
	if !(times > 1.005) {
		return ""
	}
	return fmt.Sprintf("; %.1f %% of the requests missed the objectives at %.2f times what the profiles promise, so a replica serves %.2f times that",
		100*e.Missed/e.Requests, e.Used/e.Requests, times)
}

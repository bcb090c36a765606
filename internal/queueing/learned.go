package queueing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// reach limits the load given to a replica, as a multiple of the load at which it was seen:
	// beyond it, latency may rise steeply.
	reach = 1.25
	// learnedMost limits the factor that is learned.
	learnedMost = 10
	// fewestMissed is the least part of missed requests that is told apart from none.
	fewestMissed = 0.005
	// halfBelieved is the number of requests at which half of the evidence is believed.
	halfBelieved = 200
)

// Learn returns the traffic with the evidence of snap, whose analysis is a, added.
func Learn(past memory.Traffic, snap scaling.Snapshot, o scaling.Objective, a scaling.Analysis) memory.Traffic {
	past.Evidence = witnessed(past, snap, o, a.Promised)
	return past
}

// witnessed returns the evidence of past with that of snap added, whose replicas serve promised
// requests/s by their profiles; 0 where that is unknown.
func witnessed(past memory.Traffic, snap scaling.Snapshot, o scaling.Objective, promised float64) memory.Evidence {
	if !(promised > 0) {
		return past.Evidence
	}
	queued, overdrawn := snap.Waiting() > serving(snap.Variants, time.Time{}), past.Budget.Left(o) < 0
	return past.Evidence.Then(snap, o, promised, learned(past.Evidence, o, 1), queued, overdrawn)
}

// learned returns the factor on the rate that a profile promises for a replica. It combines the
// allowance of the error budget with what was measured; the measured part counts for 1 to
// learnedMost. A profile that is fitted to two points of a benchmark promises too little where
// batches are small and prompts long: there one more request is a large step, while the latency of
// a request is a mean over many. Of the requests that met replicas used to u times what is
// promised (Evidence.Utilization), a part m missed the objective, and a part a may miss it:
//
//	seen = u (a / m)^(1/3),   at most 1.25 u
//
// So load rises in steps, each after the step before was seen to work. Where the budget is
// overdrawn, its allowance, which is less than 1, is multiplied with a: where almost no request
// misses at the present load, more replicas would pay nothing back. A profile that promises too
// much is corrected by the error budget, not here: misses by bursts and by late starts look the
// same.
func learned(e memory.Evidence, o scaling.Objective, allowance float64) float64 {
	if !(e.Requests > 0) {
		return allowance
	}
	allowed := 1 - o.Share()
	missed := max(fewestMissed, (e.Missed+1)/(e.Requests+1/allowed)) // as if one more had missed, of as few as may have one
	overdrawn := min(1, allowance)
	seen := e.Utilization() * min(reach, overdrawn*math.Pow(allowed/missed, 1.0/memory.Steepness))
	believed := e.Requests / (e.Requests + halfBelieved)
	return allowance * math.Pow(max(1, min(learnedMost, seen)/overdrawn), believed)
}

// unseenFrom is how many times as many requests as may must miss for evidence to count for nothing.
const unseenFrom = 5

// unseen reports whether the evidence does not show what misses: far more requests missed lately than
// may. Evidence is blind while replicas start and requests queue. Where most misses come with bursts, it
// shows the calm between them, in which few replicas are enough.
func unseen(b memory.Budget, o scaling.Objective) bool {
	attained, known := b.Attainment()
	return known && 1-attained > unseenFrom*(1-o.Share())
}

// byProfile returns the requests/s that the Ready replicas serve within the objective by their
// profiles; 0 where a profile is missing or cannot keep the objective.
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

// told describes what was learned, "" for nothing.
func told(e memory.Evidence, times float64) string {
	if !(times > 1.005) {
		return ""
	}
	return fmt.Sprintf("; %.1f %% of the requests missed the objectives at %.2f times what the profiles promise, so a replica serves %.2f times that",
		100*e.Missed/e.Requests, e.Utilization(), times)
}

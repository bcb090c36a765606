package queueing

import (
	"fmt"
	"math"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// contradicts is how far a measurement may differ from the prediction, as a part of the
	// prediction.
	contradicts = 0.5
	// comparableUpTo is the utilization up to which latencies are compared. Beyond it, a small
	// error of the rate makes a large error of the latency.
	comparableUpTo = 0.9
	// ample is a part of an objective. A latency below it may be longer than predicted and does not
	// prevent a reduction: the replicas that stay have room for the same error.
	ample = 0.5
)

// sizings are the variants sized to an objective by corrected profiles, and the same variants by
// their stated profiles, in the same order.
type sizings struct {
	corrected, stated []sizing
	objective         scaling.Objective
}

// compare predicts the latency of the measured load. In a steady state it also records where
// measurements contradict the stated profiles, and returns which latencies are longer than even the
// corrected profiles predict, "" for none. Replicas that slow are not removed, unless they keep
// their objective amply.
func compare(a *scaling.Analysis, snap scaling.Snapshot, by sizings, load load) string {
	if load.rate <= 0 || a.Supply <= 0 || load.rate > a.Supply {
		return ""
	}
	share := make([]float64, len(by.corrected)) // of one replica, requests/s
	for i, s := range by.corrected {
		share[i] = load.rate * s.rate / a.Supply
	}
	predicted, ok := expect(by.corrected, share)
	if !ok {
		return ""
	}
	a.Predicted = predicted
	if !atSteadyState(*a, snap, by.corrected, load) {
		return ""
	}
	if promised, ok := expect(by.stated, share); ok {
		a.Compared = snap.Load.ITL.State == scaling.Fresh && snap.Load.TTFT.State == scaling.Fresh
		for _, s := range by.stated {
			if ready, _ := s.replicas(); ready == 0 || profile.Believed(s.variant.Profile) {
				continue
			}
			contradict(a, s.variant.Key, "ITL", promised.ITL, snap.Load.ITL)
			contradict(a, s.variant.Key, "TTFT", promised.TTFT, snap.Load.TTFT)
		}
	}
	var slower []string
	for _, q := range []struct {
		name      string
		predicted float64
		objective float64
		measured  scaling.Reading
	}{{"ITL", predicted.ITL, by.objective.ITL, snap.Load.ITL}, {"TTFT", predicted.TTFT, by.objective.TTFT, snap.Load.TTFT}} {
		if q.measured.State == scaling.Fresh && q.measured.Value > max((1+contradicts)*q.predicted, ample*q.objective) {
			slower = append(slower, fmt.Sprintf("the profiles promise a %s of %.0f ms and %.0f ms are measured", q.name, q.predicted, q.measured.Value))
		}
	}
	return strings.Join(slower, "; ")
}

// expect returns the mean latency of the load when each replica takes its share; false where a
// share is more than a replica serves.
func expect(sized []sizing, share []float64) (scaling.Latency, bool) {
	var mean scaling.Latency
	served := 0.0
	for i, s := range sized {
		ready, _ := s.replicas()
		if ready == 0 || share[i] == 0 {
			continue
		}
		m, err := s.queue.Analyze(s.alone(share[i]))
		if err != nil {
			return scaling.Latency{}, false
		}
		mean.TTFT += m.TTFT * share[i] * ready
		mean.ITL += m.ITL * share[i] * ready
		served += share[i] * ready
	}
	return scaling.Latency{TTFT: mean.TTFT / served, ITL: mean.ITL / served}, served > 0
}

// atSteadyState reports whether the measured latencies are those of the present replicas: all serve
// within the objectives, none is new, and no more than one request waits for each.
func atSteadyState(a scaling.Analysis, snap scaling.Snapshot, sized []sizing, load load) bool {
	replicas := 0.0
	for _, s := range sized {
		ready, current := s.replicas()
		if ready != current || ready > 0 && s.rate == 0 {
			return false
		}
		if s.variant.Replicas.ReadyWithin(snap.At, snap.Window) {
			return false
		}
		replicas += ready
	}
	return load.rate <= comparableUpTo*a.Supply && load.backlog <= replicas
}

// contradict adds a contradiction where measured differs too much from predicted.
func contradict(a *scaling.Analysis, v scaling.VariantKey, quantity string, predicted float64, measured scaling.Reading) {
	if measured.State != scaling.Fresh || predicted <= 0 || math.Abs(measured.Value-predicted) <= contradicts*predicted {
		return
	}
	a.Contradictions = append(a.Contradictions, scaling.Contradiction{Variant: v, Quantity: quantity, Predicted: predicted, Measured: measured.Value})
}

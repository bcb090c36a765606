package modelanalyzer

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// contradicts is the part of what is predicted by which a measurement may differ.
	contradicts = 0.5
	// comparableUpTo is the utilization up to which latencies are compared: beyond
	// it they depend on the load so steeply that a small error of the rate is a
	// large one of the latency.
	comparableUpTo = 0.9
)

// compare predicts the latency of the measured load, and says where that and
// what is measured contradict each other. It does so only while the fleet and its
// queues are at rest.
func compare(a *scaling.Analysis, snap scaling.Snapshot, sized []sizing, load load) {
	if load.rate <= 0 || a.Supply <= 0 || load.rate > a.Supply {
		return
	}
	served := 0.0
	for _, s := range sized {
		ready, _ := s.replicas()
		if ready == 0 || s.rate == 0 {
			continue
		}
		share := load.rate * s.rate / a.Supply // of one replica, requests/s
		m, err := s.queue.Analyze(share)
		if err != nil {
			return
		}
		a.Predicted.TTFT += m.TTFT * share * ready
		a.Predicted.ITL += m.ITL * share * ready
		served += share * ready
	}
	a.Predicted.TTFT /= served
	a.Predicted.ITL /= served
	if !atRest(*a, snap, sized, load) {
		return
	}
	for _, s := range sized {
		if ready, _ := s.replicas(); ready == 0 {
			continue
		}
		contradict(a, s.variant.Key, "ITL", a.Predicted.ITL, snap.Load.ITL)
		contradict(a, s.variant.Key, "TTFT", a.Predicted.TTFT, snap.Load.TTFT)
	}
}

// atRest reports whether the measured latencies are those of the replicas that
// there are now: all serve within the objectives, none is new, and no more than
// one request waits for each.
func atRest(a scaling.Analysis, snap scaling.Snapshot, sized []sizing, load load) bool {
	replicas := 0.0
	for _, s := range sized {
		ready, current := s.replicas()
		if ready != current || ready > 0 && s.rate == 0 {
			return false
		}
		if newest := s.variant.Replicas.NewestReady; !newest.IsZero() && snap.At.Sub(newest) < snap.Window {
			return false
		}
		replicas += ready
	}
	return load.rate <= comparableUpTo*a.Supply && load.backlog <= replicas
}

// contradict adds a contradiction where there is one.
func contradict(a *scaling.Analysis, v scaling.VariantKey, quantity string, predicted float64, measured scaling.Reading) {
	if measured.State != scaling.Fresh || predicted <= 0 || math.Abs(measured.Value-predicted) <= contradicts*predicted {
		return
	}
	a.Contradictions = append(a.Contradictions, scaling.Contradiction{Variant: v, Quantity: quantity, Predicted: predicted, Measured: measured.Value})
}

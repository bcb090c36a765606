package queueing

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Expected is what one Ready replica of a variant is expected to do with its share of the load.
type Expected struct {
	Variant scaling.VariantKey `json:"variant"`
	Rate    float64            `json:"rate"`   // requests/s that reach it
	Serves  float64            `json:"serves"` // requests/s within the objectives
	// TTFT and ITL are those of the percentiles of the Options, in ms; 0 while Overloaded.
	TTFT float64 `json:"ttft,omitempty"`
	ITL  float64 `json:"itl,omitempty"`
	// Overloaded says that more reaches it than full batches complete, so that requests wait ever
	// longer.
	Overloaded bool `json:"overloaded,omitempty"`
}

// Expect returns what a replica of each variant with Ready replicas is expected to do with its
// share of the measured rate, without backlog and forecast. It uses the profiles of Analyze, and
// shares in proportion to what replicas serve. Sorted by Variant; nil where Analyze cannot size the
// model.
func Expect(snap scaling.Snapshot, objective scaling.Objective, options Options, past Memory) []Expected {
	if !objective.Set() {
		return nil
	}
	load, why := measure(snap)
	if why != "" || load.none() {
		return nil
	}
	load = load.smoothed(snap, past)
	variants := withBatch(scaling.ByKey(snap.Variants), snap, past.Traffic.Footprint)
	sized, fault := sizeAll(correct(variants, past.Traffic.Means), load, objective, options)
	if fault.reason != "" {
		return nil
	}
	pool(sized, load)
	supply := 0.0
	for _, s := range sized {
		ready, _ := s.replicas()
		supply += ready * s.rate
	}
	var out []Expected
	for _, s := range sized {
		if ready, _ := s.replicas(); ready > 0 && s.rate > 0 && s.usable {
			out = append(out, s.expected(load.rate*s.rate/supply, options))
		}
	}
	return out
}

// expected returns what a replica does at a rate in requests/s.
func (s sizing) expected(rate float64, options Options) Expected {
	out := Expected{Variant: s.variant.Key, Rate: rate, Serves: s.rate}
	rate = s.alone(rate)
	mean, err := s.queue.Analyze(rate)
	if err != nil {
		out.Overloaded = true
		return out
	}
	out.TTFT, out.ITL = mean.TTFT, mean.ITL
	if p := options.TTFTPercentile; p > 0 {
		if ttft, err := s.queue.PercentileTTFT(rate, p); err == nil {
			out.TTFT = ttft
		}
	}
	if p := options.ITLPercentile; p > 0 {
		if itl, err := s.queue.PercentileITL(rate, p); err == nil {
			out.ITL = itl
		}
	}
	return out
}

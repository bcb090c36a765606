package queueing

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Memory is what is remembered of a model, brought up to the Snapshot that is
// analyzed. The zero value remembers nothing.
type Memory struct {
	Traffic  scaling.Traffic
	Backlog  scaling.Backlog
	Interval time.Duration // until the next cycle; 0 where that is not known
}

// Remember returns what is to be remembered after snap, of which backlog waits. A
// Snapshot that is not newer than what is remembered changes nothing.
func Remember(past scaling.Traffic, snap scaling.Snapshot, backlog scaling.Backlog, interval time.Duration, objective scaling.Objective) Memory {
	replicas, profile := settled(snap)
	arrivals, rose := past.Arrivals.Then(snap, interval, farApart(snap, interval)), past.Rose
	if arrivals.Rose() {
		rose = snap.At
	}
	return Memory{Interval: interval, Backlog: backlog, Traffic: scaling.Traffic{
		Arrivals:  arrivals,
		Rose:      rose,
		Lengths:   past.Lengths.Then(snap),
		Footprint: past.Footprint.Then(snap),
		Shares:    learn(past.Shares, snap, backlog),
		Means:     past.Means.Then(snap, replicas, profile),
		Budget:    past.Budget.Then(snap, objective),
		Evidence:  past.Evidence, // Learn brings it up to the Snapshot once that is analyzed
	}}
}

// settled is how many replicas serve, and their profiles in the mean over the requests that
// they serve; 0 where their latencies tell nothing of the next minutes: while more requests
// wait than there are replicas, or while a replica is new.
func settled(snap scaling.Snapshot) (float64, scaling.Profile) {
	replicas := serving(snap.Variants, snap.At.Add(-2*snap.Window))
	if snap.Waiting() > replicas {
		return 0, scaling.Profile{}
	}
	return replicas, mean(snap)
}

// withBatch returns the variants with the batch that a replica computes: no larger than the
// engine's arguments and the profile allow, nor than its KV cache holds, since requests beyond
// that wait or are computed twice. Where no replica says how large its cache is, that sets no limit.
func withBatch(variants []scaling.Variant, snap scaling.Snapshot, past scaling.Footprint) []scaling.Variant {
	each := held(snap.Load, past)
	least := map[scaling.VariantKey]float64{} // tokens of a replica's KV cache
	for _, r := range snap.Replicas {
		if size := r.KVCapacity; size.Known() && size.Value > 0 {
			if last, ok := least[r.Variant]; !ok || size.Value < last {
				least[r.Variant] = size.Value
			}
		}
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		v.Profile.MaxBatchSize = v.SizedBatch()
		if tokens, ok := least[v.Key]; ok && each > 0 {
			v.Profile.MaxBatchSize = int(max(1, min(float64(v.Profile.Batch()), math.Floor(tokens/each))))
		}
		out[i] = v
	}
	return out
}

// held returns how many tokens a request in a batch holds in the mean, 0 where that
// is not known. With lengths that are all alike it is input + output/2. What is in
// a batch at any moment is longer than what arrives, since long answers stay longer
// (the inspection paradox): with a coefficient of variation c of the outputs,
//
//	held = input + output/2 (1 + c^2)
//
// and prompts with a common prefix hold less. Neither is known, and what replicas
// hold is: their Footprint corrects the mean, and counts as much as no correction
// once as many requests were seen running as in doubted, and more with more.
func held(load scaling.Load, past scaling.Footprint) float64 {
	each := load.MeanTokens()
	if !(past.Held > 0 && past.Expected > 0) {
		return each
	}
	none := doubted * each
	return each * (past.Held + none) / (past.Expected + none)
}

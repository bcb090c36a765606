package queueing

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Memory is what is remembered of a model, up to the Snapshot that is analyzed. The zero value
// remembers nothing.
type Memory struct {
	Traffic  memory.Traffic
	Backlog  memory.Backlog
	Interval time.Duration // until the next cycle; 0 where that is not known
}

// Remember returns what is remembered after snap, with its backlog. A Snapshot that is not newer
// than what is remembered changes nothing.
func Remember(past memory.Traffic, snap scaling.Snapshot, backlog memory.Backlog, interval time.Duration, objective scaling.Objective) Memory {
	replicas, profile := settled(snap)
	arrivals, rose := past.Arrivals.Then(snap, interval, farApart(snap, interval)), past.Rose
	if arrivals.Rose() {
		rose = snap.At
	}
	return Memory{Interval: interval, Backlog: backlog, Traffic: memory.Traffic{
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

// settled returns how many replicas serve, and the mean of their profiles over their requests; 0
// where their latencies do not predict the next minutes: while more requests wait than there are
// replicas, or while a replica is new.
func settled(snap scaling.Snapshot) (float64, scaling.Profile) {
	replicas := serving(snap.Variants, snap.At.Add(-2*snap.Window))
	if snap.Waiting() > replicas {
		return 0, scaling.Profile{}
	}
	return replicas, mean(snap)
}

// withBatch returns the variants with the batch of a replica: the least of the limits of the
// engine's arguments, of the profile and of the KV cache. Requests beyond what the cache holds wait
// or are computed twice. Where no replica reports the size of its cache, that is no limit.
func withBatch(variants []scaling.Variant, snap scaling.Snapshot, past memory.Footprint) []scaling.Variant {
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

// held returns the mean number of tokens of a request in a batch, 0 where that is unknown. With
// requests of equal lengths it is input + output/2. Requests in a batch are longer than those that
// arrive, since long answers stay longer (the inspection paradox): with a coefficient of variation
// c of the outputs,
//
//	held = input + output/2 (1 + c^2)
//
// and prompts with a common prefix hold less. Neither is known, but what replicas hold is measured:
// their Footprint corrects the mean. Correction and mean count the same once as many requests were
// seen running as in doubted.
func held(load scaling.Load, past memory.Footprint) float64 {
	each := load.MeanTokens()
	if !(past.Held > 0 && past.Expected > 0) {
		return each
	}
	none := doubted * each
	return each * (past.Held + none) / (past.Expected + none)
}

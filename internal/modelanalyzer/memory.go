package modelanalyzer

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inMemory returns the variants with no larger batch than the KV cache of a replica
// holds, input + output/2 tokens for each request in the mean: what is beyond that
// waits, or is computed twice. A variant of which no replica says how large its
// cache is keeps its batch.
func inMemory(variants []scaling.Variant, snap scaling.Snapshot) []scaling.Variant {
	each := snap.Load.InputTokens.Or(0) + snap.Load.OutputTokens.Or(0)/2
	if !(each > 0) {
		return variants
	}
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
		if tokens, ok := least[v.Key]; ok {
			v.Profile.MaxBatchSize = int(max(1, min(float64(batch(v.Profile)), math.Floor(tokens/each))))
		}
		out[i] = v
	}
	return out
}

package saturation

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// full is the utilization of a replica that has load where the policy leaves no room for any. It is
// finite, because a record of it is JSON.
const full = 1e6

// capacities fills in the demand and the supply of the analysis. The weight of a replica is its KV
// cache relative to the largest of the model, and 1 where sizes are unknown. Its utilization is its
// load over the load at which growth begins (threshold - trigger), for the KV cache and for the
// queue; the demand is the larger of the two sums of utilization x weight.
func capacities(a *scaling.Analysis, variants []scaling.Variant, samples []scaling.ReplicaSample, p Thresholds) {
	weights := weigh(variants, samples)
	a.Demand, a.Supply = balance(weights, samples, p, 1)
	type sum struct{ utilization, replicas float64 }
	sums := map[scaling.VariantKey]sum{}
	for _, s := range samples {
		kv, queue := p.utilization(s, 0)
		if !s.Reports() {
			kv = 1
		}
		v := sums[s.Variant]
		sums[s.Variant] = sum{v.utilization + max(kv, queue), v.replicas + 1}
	}
	for _, v := range scaling.ByKey(variants) {
		w := weights[v.Key]
		c := scaling.Capacity{Variant: v.Key, PerReplica: w.perReplica, Source: w.source}
		if s := sums[v.Key]; s.replicas > 0 {
			c.Utilization = s.utilization / s.replicas
		}
		a.Anticipated += w.perReplica * float64(v.Replicas.Current)
		a.Variants = append(a.Variants, c)
	}
}

// utilization returns the load of a replica over the load at which growth begins, of its KV cache
// and of its queue, in the window. For an unsure replica, neither is below least.
func (p Thresholds) utilization(s scaling.ReplicaSample, least float64) (kv, queue float64) {
	kv = ratio(s.KVCacheUsage.Or(0), p.KVCacheThreshold-p.KVSpareTrigger)
	queue = ratio(s.QueueLength.Or(0), p.QueueLengthThreshold-p.QueueSpareTrigger)
	if unsure(s) {
		return max(kv, least), max(queue, least)
	}
	return kv, queue
}

// balance returns the sums of the load and of the weight of the replicas. The load of an unsure
// replica is at least the part least of its weight.
func balance(weights map[scaling.VariantKey]weight, samples []scaling.ReplicaSample, p Thresholds, least float64) (demand, supply float64) {
	var kvDemand, queueDemand float64
	for _, s := range samples {
		kv, queue := p.utilization(s, least)
		w := weights[s.Variant].perReplica
		kvDemand += kv * w
		queueDemand += queue * w
		supply += w
	}
	return max(kvDemand, queueDemand), supply
}

// fitsWithIdle reports whether the known load would fit the model if every silent replica were
// idle.
func fitsWithIdle(variants []scaling.Variant, samples []scaling.ReplicaSample, p Thresholds) bool {
	demand, supply := balance(weigh(variants, samples), samples, p, 0)
	return demand <= supply
}

type weight struct {
	perReplica float64
	source     string
}

// weigh returns the weight of a replica of each variant. Sizes are compared only when every variant
// with samples reports one: half a comparison would favour the silent variant.
func weigh(variants []scaling.Variant, samples []scaling.ReplicaSample) map[scaling.VariantKey]weight {
	sizes := map[scaling.VariantKey]float64{}
	largest, complete := 0.0, true
	for _, s := range samples {
		if s.KVCapacity.Known() && s.KVCapacity.Value > 0 {
			sizes[s.Variant] = max(sizes[s.Variant], s.KVCapacity.Value)
			largest = max(largest, s.KVCapacity.Value)
		}
	}
	for _, s := range samples {
		complete = complete && sizes[s.Variant] > 0
	}
	weights := map[scaling.VariantKey]weight{}
	for _, s := range samples {
		weights[s.Variant] = weight{1, "one replica"}
	}
	for _, v := range variants {
		weights[v.Key] = weight{1, "one replica"}
		if size := sizes[v.Key]; complete && size > 0 {
			weights[v.Key] = weight{size / largest, fmt.Sprintf("KV cache of %.0f tokens", size)}
		}
	}
	return weights
}

// ratio returns load/room, and full where there is load and no room.
func ratio(load, room float64) float64 {
	switch {
	case load <= 0:
		return 0
	case room <= 0:
		return full
	}
	return min(load/room, full)
}

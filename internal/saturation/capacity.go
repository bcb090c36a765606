package saturation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// full stands for the utilization of a replica that has load where the policy
// leaves no room for any; finite, because a record of it is JSON.
const full = 1e6

// capacities fills in the demand and the supply of the analysis. A replica
// weighs as much as its KV cache does against the largest of the model, and 1
// where sizes are unknown. Its utilization is its load over the point at which
// growth begins (threshold - trigger), for the KV cache and for the queue; the
// demand is the larger of the two sums of utilization x weight.
func capacities(a *scaling.Analysis, variants []scaling.Variant, samples []scaling.ReplicaSample, p Policy) {
	weights := weigh(variants, samples)
	a.Demand, a.Supply = balance(weights, samples, p, 1)
	type sum struct{ utilization, replicas float64 }
	sums := map[scaling.VariantKey]sum{}
	for _, s := range samples {
		kv := ratio(s.KVCacheUsage.Or(0), p.KVCacheThreshold-p.KVSpareTrigger)
		queue := ratio(s.QueueLength.Or(0), p.QueueLengthThreshold-p.QueueSpareTrigger)
		if !s.Reports() {
			kv = 1
		}
		v := sums[s.Variant]
		sums[s.Variant] = sum{v.utilization + max(kv, queue), v.replicas + 1}
	}
	for _, v := range variants {
		w := weights[v.Key]
		c := scaling.Capacity{Variant: v.Key, PerReplica: w.perReplica, Source: w.source}
		if s := sums[v.Key]; s.replicas > 0 {
			c.Utilization = s.utilization / s.replicas
		}
		a.Anticipated += w.perReplica * float64(v.Replicas.Current)
		a.Variants = append(a.Variants, c)
	}
	slices.SortFunc(a.Variants, func(x, y scaling.Capacity) int { return x.Variant.Compare(y.Variant) })
}

// balance adds up the load and the weight of the replicas. A replica that does
// not report counts as loaded to the given part of its weight.
func balance(weights map[scaling.VariantKey]weight, samples []scaling.ReplicaSample, p Policy, silent float64) (demand, supply float64) {
	var kvDemand, queueDemand float64
	for _, s := range samples {
		kv := ratio(s.KVCacheUsage.Or(0), p.KVCacheThreshold-p.KVSpareTrigger)
		queue := ratio(s.QueueLength.Or(0), p.QueueLengthThreshold-p.QueueSpareTrigger)
		if !s.Reports() {
			kv, queue = silent, silent
		}
		w := weights[s.Variant].perReplica
		kvDemand += kv * w
		queueDemand += queue * w
		supply += w
	}
	return max(kvDemand, queueDemand), supply
}

// fitsWithIdle reports whether the load that is known would fit the model if
// every replica that is Ready and silent were idle.
func fitsWithIdle(variants []scaling.Variant, samples []scaling.ReplicaSample, p Policy) bool {
	demand, supply := balance(weigh(variants, samples), samples, p, 0)
	return demand <= supply
}

type weight struct {
	perReplica float64
	source     string
}

// weigh returns the weight of a replica of each variant. Sizes are compared
// only when every variant that has samples reports one: half a comparison would
// favour whoever is silent.
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

// silentPods lists the Ready pods that report nothing, sorted.
func silentPods(samples []scaling.ReplicaSample) []string {
	var pods []string
	for _, s := range samples {
		if s.Ready && !s.Reports() {
			pods = append(pods, s.Pod)
		}
	}
	slices.Sort(pods)
	return pods
}

// silence says why nothing is known.
func silence(snap scaling.Snapshot, pods int) string {
	switch {
	case snap.Fault != "":
		return snap.Fault
	case pods == 0:
		return "no replica runs"
	}
	return fmt.Sprintf("none of %s reports", scaling.Replicas(pods))
}

// namedAtMost is how many pods a sentence names.
const namedAtMost = 3

// names joins pod names.
func names(pods []string) string {
	if len(pods) <= namedAtMost {
		return strings.Join(pods, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(pods[:namedAtMost], ", "), len(pods)-namedAtMost)
}

// stuck says which pods hold requests and do nothing, as the end of a sentence;
// "" where none does.
func stuck(snap scaling.Snapshot, samples []scaling.ReplicaSample) string {
	var clauses []string
	for _, s := range samples {
		if s.Stuck != "" {
			clauses = append(clauses, fmt.Sprintf("; pod %s holds %.0f requests and nothing has moved for %s: %s",
				s.Pod, s.Held, query.Duration(query.QuietSpan(snap.Window)), s.Stuck))
		}
	}
	if more := len(clauses) - namedAtMost; more > 0 {
		clauses = append(clauses[:namedAtMost], fmt.Sprintf("; and %d more", more))
	}
	return strings.Join(clauses, "")
}

// newestReady returns when the youngest replica of the model became Ready.
func newestReady(variants []scaling.Variant) time.Time {
	var newest time.Time
	for _, v := range variants {
		if v.Replicas.NewestReady.After(newest) {
			newest = v.Replicas.NewestReady
		}
	}
	return newest
}

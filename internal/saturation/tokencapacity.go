package saturation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// fullAtMost is the largest number of observations of full replicas that are kept, as
	// published.
	fullAtMost = 10
	// forgetFull is the age at which an observation of a full replica is forgotten: a few hours, in
	// which the requests of users change. Published: 24 hours after the last replica, so that a
	// serving variant never forgets.
	forgetFull = 4 * time.Hour
	// forgetSize is the time without any replica after which its capacity is forgotten, as
	// published: after a week the engine may be another.
	forgetSize = 7 * 24 * time.Hour
	// explains is the part of a limit from which on the limit explains a queue.
	explains = 0.9
)

// capacities returns the capacity of one replica of each variant, in the order of the variants, and
// fills in what to remember.
func (m meter) capacities(past memory.History, remember map[scaling.VariantKey]memory.TokenCapacity) []scaling.Capacity {
	out := make([]scaling.Capacity, 0, len(m.variants))
	for _, v := range m.variants {
		known := m.forget(past[v.Key].Capacity)
		c, known := m.capacity(v, known)
		remember[v.Key] = known
		out = append(out, c)
	}
	for i, c := range out {
		if c.PerReplica == 0 {
			out[i] = m.borrowed(i, out)
		}
	}
	return out
}

// forget removes what is too old.
func (m meter) forget(known memory.TokenCapacity) memory.TokenCapacity {
	if m.snap.At.Sub(known.At) > forgetSize {
		return memory.TokenCapacity{}
	}
	var full []memory.FullAt
	for _, f := range known.Full {
		var seen []memory.Held
		for _, one := range f.Seen {
			if m.snap.At.Sub(one.At) <= forgetFull {
				seen = append(seen, one)
			}
		}
		if len(seen) > 0 {
			full = append(full, memory.FullAt{Length: f.Length, Seen: seen})
		}
	}
	known.Full = full
	return known
}

// capacity returns the median capacity of the replicas of v, each the lesser of the part of its KV
// cache that the policy allows and of what its compute holds. Where no replica reports the size of
// its cache, it is the capacity last seen.
func (m meter) capacity(v scaling.Variant, known memory.TokenCapacity) (scaling.Capacity, memory.TokenCapacity) {
	var sizes, full []float64
	for _, s := range m.samples {
		if s.Variant != v.Key || size(s) <= 0 {
			continue
		}
		sizes = append(sizes, math.Floor(size(s)*m.policy.KVCacheThreshold))
		if tokens, ok := m.whenFull(v, s); ok {
			full = append(full, tokens)
		}
	}
	c := scaling.Capacity{Variant: v.Key}
	if len(sizes) == 0 {
		if known.PerReplica > 0 {
			c.PerReplica, c.Source = known.PerReplica, "as last seen of the variant"
		}
		return c, known
	}
	if len(full) > 0 {
		known.Full = observed(known.Full, m.length(), memory.Held{At: m.snap.At, Tokens: median(full)})
	}
	compute, source := m.compute(v, known)
	for i, kv := range sizes {
		sizes[i] = min(kv, compute)
	}
	c.PerReplica, c.Source = median(sizes), fmt.Sprintf("%.0f %% of the KV cache", 100*m.policy.KVCacheThreshold)
	if c.PerReplica == compute {
		c.Source = source
	}
	known.PerReplica, known.At = c.PerReplica, m.snap.At
	return c, known
}

// whenFull returns the tokens in a replica whose queue is full: it holds no more, since further
// requests do not get in. It returns false for replicas that are still filling up after their
// start, and for queues with another cause, as a long prompt in prefill or an engine that halts.
func (m meter) whenFull(v scaling.Variant, s scaling.ReplicaSample) (float64, bool) {
	kv, queue, ok := latest(s)
	if !ok || v.Replicas.ReadyWithin(m.snap.At, m.snap.Window) || queue.Or(0) < math.Floor(m.policy.QueueLengthThreshold) || s.QueueLength.Or(0) < math.Floor(m.policy.QueueLengthThreshold) {
		return 0, false
	}
	full := kv.Or(0) >= explains*m.policy.KVCacheThreshold
	if n := float64(v.MaxBatch()); !full && (n <= 0 || s.Running.Or(0) < explains*n) {
		return 0, false
	}
	tokens := math.Round(min(1, kv.Or(0)) * size(s))
	return tokens, tokens > 0
}

// compute returns the tokens in the KV cache when the compute of a replica is full, and in words
// the source: the mean of what was seen, else what the arguments of its engine imply, else no
// limit. Each step computes one token of every request in the batch, and the prompts of the
// requests that take the place of those that end:
//
//	n (input / output) + n = tokens of a step,  n <= requests of a batch
//
// A prompt longer than a step is computed in several, so that n is at least 1. The arguments say
// nothing of a prefill replica, whose answers end with their first token: its profile counts alone,
// if it has one.
func (m meter) compute(v scaling.Variant, known memory.TokenCapacity) (float64, string) {
	for _, f := range known.Full {
		if f.Length == m.length() {
			sum := 0.0
			for _, one := range f.Seen {
				sum += one.Tokens
			}
			return sum / float64(len(f.Seen)), fmt.Sprintf("what replicas held with a full queue, seen %d times in %g hours", len(f.Seen), forgetFull.Hours())
		}
	}
	input, output := m.snap.Load.InputTokens.Or(0), m.snap.Load.OutputTokens.Or(0)
	if v.Limits.BatchTokens <= 0 || v.Limits.MaxBatch <= 0 || output <= 0 || v.Role == scaling.RolePrefill && v.Profile.Usable() {
		return math.Inf(1), ""
	}
	n := max(1, min(float64(v.Limits.BatchTokens)*output/(input+output), float64(v.Limits.MaxBatch)))
	return math.Floor(n * (input + output/2)), "the tokens of a step and the requests of a batch"
}

// borrowed returns the capacity of a variant that was never seen: that of another with the same
// accelerator type and count and the same limits of the engine.
func (m meter) borrowed(i int, capacities []scaling.Capacity) scaling.Capacity {
	v, c := m.variants[i], capacities[i]
	for j, other := range m.variants {
		if capacities[j].PerReplica > 0 && j != i && v.Accelerator != "" && other.Accelerator == v.Accelerator &&
			other.GPUsPerReplica == v.GPUsPerReplica && other.Limits == v.Limits {
			c.PerReplica, c.Source = capacities[j].PerReplica, "as of "+other.Key.Name+", which is alike"
			return c
		}
	}
	c.Source = "no replica was ever seen"
	return c
}

// fastHoldMore scales the capacities in proportion to what full replicas complete.
func (m meter) fastHoldMore(capacities []scaling.Capacity) []scaling.Capacity {
	var holds, rates []float64
	for i, c := range capacities {
		holds = append(holds, c.PerReplica)
		rates = append(rates, completes(m.variants[i], m.snap.Load, c.PerReplica))
	}
	out := slices.Clone(capacities)
	for i, hold := range inProportion(m.variants, m.samples, holds, rates) {
		if hold != holds[i] {
			out[i].PerReplica = hold
			out[i].Source += ", in proportion to what a full replica completes"
		}
	}
	return out
}

// length returns the class of the output length, as published.
func (m meter) length() string {
	switch output := m.snap.Load.OutputTokens.Or(0); {
	case output < 100:
		return "short"
	case output < 500:
		return "medium"
	}
	return "long"
}

// observed returns the observations with one more. It does not change full.
func observed(full []memory.FullAt, length string, seen memory.Held) []memory.FullAt {
	out := slices.Clone(full)
	i, found := slices.BinarySearchFunc(out, length, func(f memory.FullAt, l string) int {
		switch {
		case f.Length < l:
			return -1
		case f.Length > l:
			return 1
		}
		return 0
	})
	if !found {
		return slices.Insert(out, i, memory.FullAt{Length: length, Seen: []memory.Held{seen}})
	}
	kept := append(slices.Clone(out[i].Seen), seen)
	out[i].Seen = kept[max(0, len(kept)-fullAtMost):]
	return out
}

// median returns the middle value, or the mean of the two middle ones, rounded down.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return math.Floor((sorted[n/2-1] + sorted[n/2]) / 2)
}

package plant

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// Spread is how a gateway spreads requests over the Ready replicas.
type Spread string

// The ways of spreading; the zero value is Even.
const (
	Even       Spread = ""            // by what each replica can complete: least loaded
	RoundRobin Spread = "round-robin" // equally over replicas
	Weighted   Spread = "weighted"    // to variants by their Weight, whatever replicas they have
)

// Config describes a plant.
type Config struct {
	Model    scaling.ModelKey
	Variants []Variant // one or more, by distinct keys
	Settings settings.Model
	// Load returns the offered requests/s at an offset from the start.
	Load                      func(time.Duration) float64
	InputTokens, OutputTokens float64       // of every request, >= 1
	Tick                      time.Duration // between two cycles, 15s or more
	Spread                    Spread
	// Gateway says that requests beyond short queues in the replicas wait at the gateway, where
	// they are counted. Else all wait in the replicas, and are lost while none is Ready.
	Gateway bool
	// Patience is how long clients wait before they give up, > 0.
	Patience time.Duration
	// Tolerance is the ratio by which the decision may differ from the replicas of the target
	// without being carried out: 0.1 for a HorizontalPodAutoscaler with its defaults.
	Tolerance float64
	Faults    []fault.Fault
}

// Variant is one way to serve the model.
type Variant struct {
	// Spec is what the autoscaler knows: Key, Cost, Bounds, Profile and the like. The plant fills
	// in Model, Replicas and StartUp. The replicas have exactly this Profile.
	Spec     scaling.Variant
	KVTokens float64          // of the KV cache of a replica, > 0
	StartUp  time.Duration    // from a node to Ready
	Replicas scaling.Replicas // at the start, Ready since long ago
	Weight   float64          // of the variant, for Weighted
}

// Total returns how long a replica of v takes for a request while it computes n requests at once
// [ms].
func (c Config) Total(v Variant, n float64) float64 {
	p := v.Spec.Profile
	return p.Gamma + p.Delta*c.InputTokens*n + (c.OutputTokens-1)*(p.Alpha+p.Beta*n)
}

// Tokens returns the mean tokens of a request in the KV cache.
func (c Config) Tokens() float64 { return c.InputTokens + c.OutputTokens/2 }

// Batch returns the largest number of requests that a replica of v computes at once.
func (c Config) Batch(v Variant) float64 {
	return max(1, min(float64(v.Spec.Profile.MaxBatchSize), v.KVTokens/c.Tokens()))
}

// Best returns the largest rate that a replica of v completes, requests/s.
func (c Config) Best(v Variant) float64 {
	n := c.Batch(v)
	return 1000 * n / c.Total(v, n)
}

// batchAt returns how many requests a replica of v computes at once at a rate in requests/s that it
// keeps up with, at most its Batch.
func (c Config) batchAt(v Variant, rate float64) float64 {
	fixed := c.Total(v, 0)
	slope := c.Total(v, 1) - fixed
	if left := 1 - rate/1000*slope; left > 0 {
		return min(rate/1000*fixed/left, c.Batch(v))
	}
	return c.Batch(v)
}

// Lead returns how long one additional replica of a variant takes to become Ready at an offset, and
// false if it may not be ordered or would never be Ready.
func (c Config) Lead(v Variant, current scaling.Replicas, now time.Duration) (time.Duration, bool) {
	lead := v.StartUp
	if current >= v.Spec.Bounds.Max || v.Spec.Paused {
		return lead, false
	}
	for _, f := range c.Faults {
		if !f.Concerns(v.Spec.Key) || !f.Active(now) || f.Replicas > 0 && f.Kind.PerPod() {
			continue
		}
		switch {
		case f.Kind == fault.Crash, f.Kind == fault.Flap, f.Kind == fault.Deleted, f.Kind == fault.NoNode && f.Wait == 0:
			return lead, false
		case f.Kind == fault.NoNode:
			lead += f.Wait
		}
	}
	return lead, true
}

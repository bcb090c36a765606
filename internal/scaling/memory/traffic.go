package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Traffic is the memory of the requests of a model: their number, lengths, KV cache and latencies.
// The zero value remembers nothing.
type Traffic struct {
	Arrivals  Arrivals  `json:"arrivals,omitempty"`
	Rose      time.Time `json:"rose,omitzero"` // when the rate was last seen to rise by more than noise
	Lengths   Lengths   `json:"lengths,omitzero"`
	Footprint Footprint `json:"footprint,omitzero"`
	Shares    Shares    `json:"shares,omitzero"`
	Means     Means     `json:"means,omitzero"`
	Budget    Budget    `json:"budget,omitzero"`
	Evidence  Evidence  `json:"evidence,omitzero"`
}

// Lengths are the last known mean lengths of the requests of a model, for times without a replica
// that reports them. The zero value is unknown.
type Lengths struct {
	Input  float64   `json:"input,omitempty"`  // tokens
	Output float64   `json:"output,omitempty"` // tokens
	At     time.Time `json:"at,omitzero"`
}

// Then returns l updated by a look at s.
func (l Lengths) Then(s scaling.Snapshot) Lengths {
	input, output := s.Load.InputTokens, s.Load.OutputTokens
	if !input.Known() || !output.Known() {
		return l
	}
	return Lengths{Input: input.Value, Output: output.Value, At: s.At}
}

// Shares describe how requests are shared among the variants of a model, where that was seen not to
// follow their capacity. The zero value is unknown.
type Shares struct {
	At time.Time `json:"at,omitzero"`  // when it was last seen
	Of []Share   `json:"of,omitempty"` // sorted by Variant
	// ByVariant says that each variant gets a fixed part of the requests whatever its number of
	// replicas, as with weighted backends of a route.
	ByVariant bool    `json:"byVariant,omitempty"`
	Since     []Share `json:"since,omitempty"` // earlier shares; comparing them with Of sets ByVariant
}

// Share is the relative number of requests that one replica of a variant gets.
type Share struct {
	Variant scaling.VariantKey `json:"variant"`
	Weight  float64            `json:"weight"` // relative to the mean of all replicas, > 0
	// Replicas is the number of replicas among which the variant's requests were shared at that
	// time.
	Replicas float64 `json:"replicas,omitempty"`
}

// Weight returns the weight of a variant, false where it was not seen.
func (s Shares) Weight(v scaling.VariantKey) (float64, bool) {
	for _, one := range s.Of {
		if one.Variant == v {
			return one.Weight, true
		}
	}
	return 0, false
}

// Footprint says how many tokens the requests of a model held in KV caches, and how many they would
// hold if all had the mean length: sums over looks, in which older looks count less and less. The
// zero value was never measured.
type Footprint struct {
	Held     float64   `json:"held,omitempty"`     // tokens
	Expected float64   `json:"expected,omitempty"` // tokens: running x (input + output/2)
	At       time.Time `json:"at,omitzero"`        // of the last look
}

// footprintFades is the time in which the weight of a look falls by a factor e: as long as a model
// must be unchanged before its replicas move to cheaper variants. The footprint serves lasting
// decisions, and changes with the behavior of users, not from minute to minute.
const footprintFades = 10 * time.Minute

// Then returns f updated by a look at s. A look counts in full once per window, since closer looks
// show much of the same. A look with unknown lengths, running requests or KV caches adds nothing; a
// look that is not later than the last changes nothing.
func (f Footprint) Then(s scaling.Snapshot) Footprint {
	since := s.At.Sub(f.At)
	if since <= 0 {
		return f
	}
	counts := 1.0
	if !f.At.IsZero() {
		left := math.Exp(-since.Seconds() / footprintFades.Seconds())
		f.Held, f.Expected = left*f.Held, left*f.Expected
		if s.Window > 0 {
			counts = min(1, since.Seconds()/s.Window.Seconds())
		}
	}
	f.At = s.At
	each := s.Load.MeanTokens()
	for _, r := range s.Sorted() {
		if each > 0 && r.KVCacheUsageNow.Known() && r.KVCapacity.Known() && r.Running.Known() {
			f.Held += counts * r.KVCacheUsageNow.Value * r.KVCapacity.Value
			f.Expected += counts * r.Running.Value * each
		}
	}
	return f
}

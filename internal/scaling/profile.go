package scaling

import "cmp"

// MostBatch bounds the requests that a replica computes together: no engine is run
// with more, and the work and the memory of sizing one grow with it.
const MostBatch = 4096

// DefaultBatch is the batch of a replica of which it is not known: the default of vLLM's
// --max-num-seqs.
const DefaultBatch = 256

// Profile is the measured speed of one replica: the coefficients of
//
//	ITL     = Alpha + Beta*n            [ms]
//	prefill = Gamma + Delta*tokens*n    [ms]
//
// for n concurrent requests and prompts of that many tokens. The zero value is
// the profile of a variant that names none.
type Profile struct {
	// Source is the field that the profile was read from, "" when there is none.
	Source string `json:"source,omitempty"`
	// Problem says why the coefficients cannot be used, "" when they can or when
	// there is no profile. The coefficients are 0 with it.
	Problem string `json:"problem,omitempty"`

	Alpha float64 `json:"alpha,omitempty"` // ms, >= 0
	Beta  float64 `json:"beta,omitempty"`  // ms per concurrent request, >= 0
	Gamma float64 `json:"gamma,omitempty"` // ms, >= 0
	Delta float64 `json:"delta,omitempty"` // ms per input token and concurrent request, >= 0

	// MaxBatchSize, at most MostBatch, is how many requests a replica serves at the same time, 0
	// where the profile does not say. It holds with a Problem too.
	MaxBatchSize int `json:"maxBatchSize,omitempty"`
}

// MaxBatch returns how many requests a replica of v computes together at most, up to MostBatch:
// what the arguments of its engine allow, else what its profile says; 0 where neither is known.
func (v Variant) MaxBatch() int {
	return min(max(0, cmp.Or(v.Limits.MaxBatch, v.Profile.MaxBatchSize)), MostBatch)
}

// SizedBatch returns up to how many requests the profile of v can be relied on: no more than
// it says, nor than the arguments of the engine allow; 0 where neither is known.
func (v Variant) SizedBatch() int {
	if stated, allowed := v.Profile.MaxBatchSize, v.Limits.MaxBatch; stated > 0 && allowed > 0 {
		return min(stated, allowed, MostBatch)
	}
	return v.MaxBatch()
}

// Batch returns how many requests a replica with p computes together at most: as p says, up to
// MostBatch, else DefaultBatch.
func (p Profile) Batch() int {
	if p.MaxBatchSize <= 0 {
		return DefaultBatch
	}
	return min(p.MaxBatchSize, MostBatch)
}

// Usable reports whether the coefficients were given and can be read.
func (p Profile) Usable() bool { return p.Source != "" && p.Problem == "" }

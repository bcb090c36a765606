package scaling

import "cmp"

// MostBatch limits the requests that a replica computes together: no engine is run with more, and
// the time and memory to size a replica grow with it.
const MostBatch = 4096

// DefaultBatch is the assumed maximum batch size while it is unknown: the default of vLLM's
// --max-num-seqs.
const DefaultBatch = 256

// Profile is the measured speed of one replica: the coefficients of
//
//	ITL     = Alpha + Beta*n            [ms]
//	prefill = Gamma + Delta*tokens*n    [ms]
//
// for n concurrent requests and prompts of that many tokens. The zero value is no profile.
type Profile struct {
	// Source is the field that the profile was read from, "" when there is none.
	Source string `json:"source,omitempty"`
	// Problem says why the coefficients cannot be used, "" if they can or if there is no profile.
	// With a Problem, the coefficients are 0.
	Problem string `json:"problem,omitempty"`

	Alpha float64 `json:"alpha,omitempty"` // ms, >= 0
	Beta  float64 `json:"beta,omitempty"`  // ms per concurrent request, >= 0
	Gamma float64 `json:"gamma,omitempty"` // ms, >= 0
	Delta float64 `json:"delta,omitempty"` // ms per input token and concurrent request, >= 0

	// MaxBatchSize is the largest number of requests that a replica serves at the same time, at
	// most MostBatch; 0 where the profile does not state it. It is valid even with a Problem.
	MaxBatchSize int `json:"maxBatchSize,omitempty"`
}

// MaxBatch returns the maximum batch size of a replica of v, up to MostBatch: from the arguments of
// its engine, else from its profile; 0 while unknown.
func (v Variant) MaxBatch() int {
	return min(max(0, cmp.Or(v.Limits.MaxBatch, v.Profile.MaxBatchSize)), MostBatch)
}

// SizedBatch returns the largest batch for which the profile of v is valid: the smaller of the
// profile's and the engine's maximum, up to MostBatch; 0 while both are unknown.
func (v Variant) SizedBatch() int {
	if stated, allowed := v.Profile.MaxBatchSize, v.Limits.MaxBatch; stated > 0 && allowed > 0 {
		return min(stated, allowed, MostBatch)
	}
	return v.MaxBatch()
}

// Batch returns the maximum batch size of p, up to MostBatch, or DefaultBatch while it is unknown.
func (p Profile) Batch() int {
	if p.MaxBatchSize <= 0 {
		return DefaultBatch
	}
	return min(p.MaxBatchSize, MostBatch)
}

// Usable reports whether the coefficients were given and can be read.
func (p Profile) Usable() bool { return p.Source != "" && p.Problem == "" }

package scaling

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

// MaxBatch returns how many requests a replica of v computes together at most, up to MostBatch;
// 0 where that is not known. An engine computes no more than its arguments allow, and a profile
// was measured with no more than it says: the smaller of the two counts where both are known.
func (v Variant) MaxBatch() int {
	stated, allowed := max(0, v.Profile.MaxBatchSize), max(0, v.Limits.MaxBatch)
	if stated > 0 && allowed > 0 {
		return min(stated, allowed, MostBatch)
	}
	return min(max(stated, allowed), MostBatch)
}

// Usable reports whether the coefficients were given and can be read.
func (p Profile) Usable() bool { return p.Source != "" && p.Problem == "" }

package policy

// Benchmark holds what an operator measures of one replica before setting up a peer, with the
// expected lengths. The zero value means "not measured": peers that need a number of it then hold.
type Benchmark struct {
	Rate         float64 // requests/s, the highest at which the objectives are met
	Concurrency  float64 // requests in flight at that rate
	PrefillSpeed float64 // input tokens/s of a prefill that is alone
	InputTokens  float64 // mean tokens per request of the measurement
	OutputTokens float64 // mean tokens per request of the measurement
}

// Workload holds the mean lengths of a model's requests, in tokens, both > 0.
type Workload struct {
	InputTokens  float64
	OutputTokens float64
}

// rateAt returns the highest rate of a replica of v for requests of lengths w [requests/s]: the
// Benchmark's rate, times the replica time of a measured request over that of a request of w; 0
// without a Benchmark. A request takes
//
//	delta*I + (O-1)*(beta + alpha*share)    [ms]
//
// of a replica, where its share of a step is 1/Benchmark.Concurrency or, if that is more, its part
// of the KV cache, I + O/2 tokens in the mean.
func (v Variant) rateAt(w Workload) float64 {
	b := v.Benchmark
	if !(b.Rate > 0) || !(b.Concurrency > 0) {
		return 0
	}
	takes := func(w Workload) float64 {
		share := 1 / b.Concurrency
		if v.KVTokens > 0 {
			share = max(share, (w.InputTokens+w.OutputTokens/2)/v.KVTokens)
		}
		return v.Profile.Delta*w.InputTokens + max(0, w.OutputTokens-1)*(v.Profile.Beta+v.Profile.Alpha*share)
	}
	measured, asked := takes(Workload{b.InputTokens, b.OutputTokens}), takes(w)
	if !(measured > 0) || !(asked > 0) {
		return b.Rate // without a profile all requests cost the same
	}
	return b.Rate * measured / asked
}

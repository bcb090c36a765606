package policy

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Benchmark is what an operator measures of one replica before setting up a
// peer, at the lengths that are expected. The zero value is "not measured": the
// peers that need a number of it then hold.
type Benchmark struct {
	Concurrency  float64 // requests in flight at which the ITL just meets its objective
	Rate         float64 // requests/s at that concurrency
	PrefillSpeed float64 // input tokens/s of a prefill that is alone
	InputTokens  float64 // mean tokens per request of the measurement
}

// Workload is the mean lengths of a model's requests, in tokens, both > 0.
type Workload struct {
	InputTokens  float64
	OutputTokens float64
}

// Calibrate returns the Benchmark of a replica whose speed is p and whose KV
// cache holds kvTokens (0: no limit), for requests of the lengths w. n requests
// of I input and O output tokens that are always in flight take
//
//	T(n) = gamma + delta*I*n + (O-1)*(alpha + beta*n)    [ms]
//
// each (package serving), so that the concurrency is the largest n with
// T(n) <= ITL*O, within the batch and the KV cache. An objective that is 0 does
// not limit. A profile that allows no request at all, or says too little, is an
// error.
func Calibrate(p scaling.Profile, slo SLO, w Workload, kvTokens float64) (Benchmark, error) {
	if !p.Usable() {
		return Benchmark{}, fmt.Errorf("calibrating: the profile has no coefficients (source %q, problem %q)", p.Source, p.Problem)
	}
	if !(w.InputTokens > 0) || !(w.OutputTokens > 0) {
		return Benchmark{}, fmt.Errorf("calibrating: requests of %v input and %v output tokens: want both above 0", w.InputTokens, w.OutputTokens)
	}
	fixed := p.Gamma + (w.OutputTokens-1)*p.Alpha
	perRequest := p.Delta*w.InputTokens + (w.OutputTokens-1)*p.Beta
	n := float64(p.MaxBatchSize)
	if slo.ITL > 0 && perRequest > 0 {
		n = least(n, (slo.ITL*w.OutputTokens-fixed)/perRequest)
	}
	if kvTokens > 0 {
		n = least(n, kvTokens/(w.InputTokens+w.OutputTokens/2))
	}
	total := fixed + perRequest*n
	prefill := p.Gamma + p.Delta*w.InputTokens
	if !(n > 0) || !(total > 0) || !(prefill > 0) {
		return Benchmark{}, fmt.Errorf("calibrating profile %s: %.3g requests fit within an ITL of %v ms, a batch of %d and a KV cache of %.0f tokens: want more than 0",
			p.Source, n, slo.ITL, p.MaxBatchSize, kvTokens)
	}
	return Benchmark{
		Concurrency:  n,
		Rate:         n / total * 1000,
		PrefillSpeed: w.InputTokens / prefill * 1000,
		InputTokens:  w.InputTokens,
	}, nil
}

// least is the smaller limit, where a present limit of 0 is none.
func least(present, limit float64) float64 {
	if present == 0 {
		return limit
	}
	return min(present, limit)
}

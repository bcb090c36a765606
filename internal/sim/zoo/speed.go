package zoo

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// Lengths are the mean lengths of requests, and those of long ones, in tokens.
type Lengths struct {
	Input, Output         float64 // means
	LongInput, LongOutput float64 // which one request of a hundred exceeds
	Longest               float64 // input and output together, which one of a thousand exceeds
}

// full is the part of the KV cache and of the time of prefills that a replica may be
// filled to without queues and preemptions to speak of.
const full = 0.8

// Load is what a replica does at an arrival rate, estimated.
type Load struct {
	Batch float64 // requests that it decodes at the same time
	ITL   float64 // ms, which all but a part of the requests keep
	Fits  bool    // it carries the rate
}

// At estimates what a replica does at a rate in requests/s. With n requests in the batch
// and a part u of the time spent on prefills, by Little's law
//
//	n = rate * (output * ITL + prefill),   ITL = (alpha + beta * n) / (1 - u),   u = rate * prefill
//
// which holds up to the batch, the KV cache and u = 0.8. An answer meets rate * output * ITL
// prefills of others in the mean. How many it meets has a Poisson distribution, and half
// of the answers are half as long or shorter: so much more is added for z standard
// deviations.
func At(p serving.Profile, l Lengths, rate, z float64) Load {
	prefill := p.Prefill(l.Input) / 1000
	u := rate * prefill
	turn := rate * l.Output / 1000 / max(1-u, 1e-9) // requests for each ms of a step
	if u >= full || turn*p.BetaMS >= 1 {
		return Load{}
	}
	n := (turn*p.AlphaMS + rate*prefill) / (1 - turn*p.BetaMS)
	itl := (p.AlphaMS + p.BetaMS*n) / (1 - u)
	met := rate * l.Output * itl / 1000
	return Load{Batch: n, ITL: itl + z*math.Sqrt(met)*1000*prefill/(l.Output/2), Fits: n <= Batch(p, l)}
}

// Speed estimates the highest rate that a replica carries within a bound of the ITL in ms,
// in requests/s; 0 if it carries none.
func Speed(p serving.Profile, l Lengths, itl, z float64) float64 {
	low, high := 0.0, 1e4
	for range 60 {
		middle := (low + high) / 2
		if at := At(p, l, middle, z); at.Fits && at.ITL <= itl {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Batch returns how many requests a replica decodes at the same time at most.
func Batch(p serving.Profile, l Lengths) float64 {
	return math.Min(float64(p.MaxBatchSize), full*float64(p.KVCacheTokens)/held(l))
}

// held returns the tokens in the KV cache of a request, with half of its answer.
func held(l Lengths) float64 { return l.Input + l.Output/2 }

// alone returns the TTFT of a prompt that is alone in ms: a prefill in as many steps as
// it takes.
func alone(p serving.Profile, tokens float64) float64 {
	steps := math.Ceil(tokens / float64(p.MaxBatchedTokens))
	return p.Prefill(tokens) + (steps-1)*p.GammaMS + p.AlphaMS
}

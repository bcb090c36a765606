package zoo

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// Lengths are the mean lengths of requests, and the lengths of long ones, in tokens.
type Lengths struct {
	Input, Output         float64 // means
	LongInput, LongOutput float64 // which one request of a hundred exceeds
	Longest               float64 // input and output together, which one of a thousand exceeds
}

// full is the part of the KV cache, and of the time for prefills, that a replica can use without
// notable queues and preemptions.
const full = 0.8

// Load is the estimated state of a replica at an arrival rate.
type Load struct {
	Batch float64 // requests in the batch
	ITL   float64 // ms, kept by the share of the requests that z stands for
	Fits  bool    // it carries the rate
}

// At estimates the Load of a replica at a rate in requests/s. With n requests in the batch and a
// part u of the time spent on prefills, by Little's law
//
//	n = rate * (output * ITL + prefill),   ITL = (alpha + beta * n) / (1 - u),   u = rate * prefill
//
// which holds up to the batch size, the KV cache and u = 0.8. An answer meets rate * output * ITL
// prefills of others in the mean. Their number has a Poisson distribution, and half of the answers
// are half as long or shorter: the ITL grows accordingly by z standard deviations.
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

// Speed estimates the highest rate that a replica carries within an ITL in ms, in requests/s; 0 if
// it carries none.
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

// Batch returns the largest number of requests that a replica decodes at the same time.
func Batch(p serving.Profile, l Lengths) float64 {
	return math.Min(float64(p.MaxBatchSize), full*float64(p.KVCacheTokens)/held(l))
}

// held returns the tokens in the KV cache of a request, with half of its answer.
func held(l Lengths) float64 { return l.Input + l.Output/2 }

// alone returns the TTFT in ms of a prompt that is alone: a prefill in as many steps as the batched
// tokens ask for.
func alone(p serving.Profile, tokens float64) float64 {
	steps := math.Ceil(tokens / float64(p.MaxBatchedTokens))
	return p.Prefill(tokens) + (steps-1)*p.GammaMS + p.AlphaMS
}

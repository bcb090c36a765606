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

// Speed estimates the highest rate that a replica carries with a mean ITL within a bound
// in ms, in requests/s; 0 if none does. With n requests in the batch and a part u of the
// time spent on prefills, by Little's law
//
//	n = rate * (output * ITL + prefill),   ITL = (alpha + beta * n) / (1 - u),   u = rate * prefill
//
// which holds up to the batch, the KV cache and u = 0.8.
func Speed(p serving.Profile, l Lengths, itl float64) float64 {
	prefill := p.Prefill(l.Input) / 1000
	most := Batch(p, l)
	fits := func(rate float64) bool {
		u := rate * prefill
		if u >= full {
			return false
		}
		turn := rate * l.Output / 1000 / (1 - u) // requests for each ms of a step
		if turn*p.BetaMS >= 1 {
			return false
		}
		n := (turn*p.AlphaMS + rate*prefill) / (1 - turn*p.BetaMS)
		return n <= most && (p.AlphaMS+p.BetaMS*n)/(1-u) <= itl
	}
	low, high := 0.0, 1e4
	for range 60 {
		middle := (low + high) / 2
		if fits(middle) {
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

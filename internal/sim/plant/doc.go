// Package plant is a fleet of one model in virtual time, by rates: replicas serve as many requests
// per second as their batch allows, what they cannot serve waits, and no request is looked at by
// itself. It shows the fleet to cycle.Setup.Decide as discovery and the collector would, carries
// the decision out as a scaler does, and goes on to the next cycle. A day of cycles takes as long
// as their decisions.
//
// A replica of a variant with the profile alpha, beta, gamma, delta computes n
// requests at once and completes n / T(n) of them,
//
//	T(n) = gamma + delta * input * n + (output - 1) * (alpha + beta * n)   [ms]
//
// with n such that it keeps up with the arrivals, and at most what its batch and its KV cache hold,
// input + output / 2 tokens each. That is a replica at its best.
//
// Unlike internal/sim it has no requests of different lengths, chance, preemption, prefill that
// delays decoding, draining or histograms. It is for questions about decisions over days, not about
// latencies.
package plant

// Package roofline computes how fast a replica is that was never measured, from the size of its
// model and the data sheet of its accelerators. It is the roofline model of performance (Williams,
// Waterman and Patterson, 2009) for the two phases of a language model: memory bandwidth limits
// decode, compute limits prefill.
//
// A step in which n requests decode reads the active parameters and the KV cache of each request,
// and computes 2 operations per active parameter for each input token:
//
//	step = (active parameters + n KV cache) / (0.8 bandwidth) + 0.085 ms layers + 0.015 ms n
//	       + 2 active parameters / (0.5 operations per second) tokens
//
// where bandwidth and operations are those of all accelerators of the replica. Engines reach 0.8 of
// the bandwidth and half of the operations; the times of a layer and of a request are fitted to
// measured profiles. In a mixture of experts, a step with many requests reads more experts than one
// with few, up to all of them: the time per request is the slope of the chord between 1 and 32
// requests.
//
// Measured profiles differ from each other by engine, version and method more than from the law:
// with the standard deviations of the coefficients, eight of ten measurements of models that the
// fit did not see are within the range (TestTheLawCoversModelsThatWereLeftOut).
package roofline

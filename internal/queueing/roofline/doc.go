// Package roofline computes how fast a replica is that was never measured, from the size of
// its model and the data sheet of its accelerators. It is the roofline model of performance
// (Williams, Waterman and Patterson, 2009) for the two phases of a language model: decoding is bound
// by the memory's bandwidth, prefill by computing.
//
// A step in which n requests decode reads the parameters that are active and the KV cache of each,
// and computes 2 operations per active parameter for each token of a prompt:
//
//	step = (active parameters + n KV cache) / (0.8 bandwidth) + 0.085 ms layers + 0.015 ms n
//	       + 2 active parameters / (0.5 operations per second) tokens
//
// where bandwidth and operations are those of all accelerators of the replica. Engines
// reach 0.8 of the bandwidth and half of the operations; the times of a layer and of a
// request are fitted to measured profiles. Of a mixture of experts a step with many
// requests reads more experts than one with few, up to all of them: the time that a request
// adds has the chord of that between 1 and 32 requests.
//
// Measured profiles differ from each other by engine, version and method more than from the law:
// the parts by which the coefficients may be off are such that eight of ten measurements of models
// that the fit did not see are within (TestTheLawCoversModelsThatWereLeftOut).
package roofline

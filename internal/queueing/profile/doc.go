// Package profile learns how fast the replicas of a variant are while they serve, from
// what the ordinary questions to their engines answer (scaling.Pace). Nothing is tried on
// users only to learn.
//
// What is learned is the time of a step, in which each of the n requests that are decoding
// gets a token, and some tokens of prompts are computed:
//
//	step = a + b n + d tokens            [ms]
//
// It is what continuous batching with chunked prefill does, and an ITL is the time of
// a step. By Little's law a replica shows its n: the seconds that its requests waited
// for a token in a second. A token shares its step with one request more than that where requests
// come independent of each other, and with as many where a gateway levels the replicas: half a request
// more is taken. The first token of a request that does not wait in a queue comes after the rest
// of the step that runs, and the steps of its own prompt:
//
//	TTFT = c + e step (1/2 + r) + f prompt (1 + 1.5 p)         [ms],  e about 1, f about d
//
// where r is the part of the time in which a step runs, 1 - exp(-n), and p that in which one
// computes prompts, d times the tokens of prompts in a ms: the prompts of others come first.
//
// Both are Bayesian linear regressions with the part by which a measurement is off taken for
// normal, so that a step of 10 ms counts as much as one of 100 ms. What was seen is
// kept as sums in bands of the concurrency (scaling.Fit), in each of which the past counts for ten
// windows at most: idle hours do not drown busy ones, and what changes is learned anew.
//
// What was seen outlives the process (package store). It is forgotten with the accelerator
// that it was seen on, and counts for little once the engine is started otherwise
// (scaling.Fit.For).
//
// What a user states of a variant is where its regression begins; of others that is a prior: what
// replicas like its own showed in another namespace, where Share is asked, else one that is computed
// by package roofline. A variant that was never seen is believed to be as it is stated, or else to
// differ from another of its model that was as the priors of the two do.
package profile

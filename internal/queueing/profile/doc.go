// Package profile learns how fast the replicas of a variant are while they serve, from what the
// ordinary questions to their engines answer (scaling.Pace). No experiment is run on the requests
// of users.
//
// It learns the time of a step, in which each of the n requests that decode gets a token, and in
// which some input tokens are computed:
//
//	step = a + b n + d tokens            [ms]
//
// That is continuous batching with chunked prefill, and an ITL is the time of a step. By Little's
// law a replica shows its n: the seconds that its requests waited for a token in a second. The step
// of a token has n + 1 requests where requests arrive independently of each other, and n where a
// gateway levels the replicas: the law uses n + 1/2. The first token of a request that does not
// wait in a queue comes after the rest of the running step and the steps of its own prompt:
//
//	TTFT = c + e step (1/2 + r) + f prompt (1 + 1.5 p)         [ms],  e about 1, f about d
//
// where r = 1 - exp(-n) is the part of the time in which a step runs, and p the part in which
// prompts are computed, d times the input tokens in a ms: the prompts of others come first.
//
// Both are Bayesian linear regressions with normal relative errors, so that a step of 10 ms counts
// as much as one of 100 ms. The samples are kept as sums in bands of the concurrency (memory.Fit).
// In each band the past counts for at most ten windows: idle hours do not drown busy ones, and
// changes are learned.
//
// What was seen outlives the process (package store). It is forgotten when the accelerator changes,
// and counts for little once the engine starts with another template (memory.Fit.For).
//
// The regression of a variant begins with the profile that the user states. Without one it begins
// with a prior: what replicas of its kind showed in another namespace, where Share is asked, else
// the one that package roofline computes. A variant that was never seen is believed to be as
// stated. Without a profile it is believed to differ from a variant of its model that was seen as
// the priors of the two differ.
package profile

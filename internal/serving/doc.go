// Package serving is one LLM serving replica as a pure, deterministic machine:
// iteration-level continuous batching with chunked prefill, a paged KV cache
// and preemption by recomputation, in the manner of vLLM's scheduler.
//
// It is not a server, and it has no clock. The driver says what time it is (as
// an offset from an epoch of its own), hands in requests and takes out events;
// so the emulator runs the same code in real time that the simulator runs in
// virtual time. A Replica is not safe for concurrent use.
//
//	r, err := serving.New(profile, serving.Options{})
//	r.Submit(now, serving.Request{ID: 1, InputTokens: 200, OutputTokens: 100})
//	for at, ok := r.Next(); ok; at, ok = r.Next() {
//		events = r.Advance(at, events[:0])
//	}
//
// # Time
//
// Inputs of one instant come before the Advance to that instant: requests
// submitted at the same time enter the same step. An input at an instant that
// has been advanced to already takes effect at the next step. How finely a
// driver steps between its inputs changes nothing.
//
// # One step
//
// A step begins when the last has ended and there is work. In this order:
//
//  1. Every running request gets its next token (decode) or its next chunk of
//     prompt (prefill), oldest first, until MaxBatchedTokens are given out.
//     When a block of the KV cache is needed and none is free, the youngest
//     running request is preempted: it loses its blocks and all that was
//     computed in them, and returns to the head of the waiting queue. What it
//     has already put out stays out and is recomputed with the prompt.
//  2. If nothing was preempted, waiting requests are admitted in order while
//     the batch is below MaxBatchSize, tokens are left and the blocks of the
//     first chunk are free.
//
// At the end of the step each request whose tokens are all computed puts out one
// token; with its last token it finishes and frees its blocks.
//
// # How long a step takes
//
// With D requests decoding, P tokens of prompt computed, and B telling whether a
// prompt begins in this step (its first chunk), in milliseconds:
//
//	step = max(alpha if D > 0, gamma if B) + beta*D + delta*P
//
// alpha and gamma are the cost of a pass whatever is in it (reading the
// weights, launching kernels). A mixed pass pays that once, hence the maximum;
// what the tokens cost adds up. From it follow the laws of the queueing model
// that this machine is the detailed picture of:
//
//   - Pure decode of n requests: ITL = alpha + beta*n.
//   - Prefill of n prompts of L tokens in one batch: gamma + delta*L*n. For
//     n = 1 it holds for any L, chunked or not, because a prompt pays gamma with
//     its first chunk only: chunking changes when others run, not what a prompt
//     costs.
//   - A replica that always holds n requests of L tokens in and O out finishes
//     n / (gamma + delta*L*n + (O-1)*(alpha + beta*n)) of them per ms, exactly
//     when they run in lockstep. When they do not, and gamma <= alpha, the
//     difference is less than alpha per lifetime of a request.
//
// On real accelerators a short prompt takes as long as one of some hundred tokens:
// a pass is bound by reading the weights until there is enough to compute. Where
// that was measured, PrefillFloorMS says so and gamma is 0 or small: a step with
// P > 0 takes
//
//	step = max(max(alpha if D > 0, gamma if B) + delta*P, floor) + beta*D
//
// and the laws hold as far as delta*P exceeds the floor. Of the profiles measured
// well, gamma + delta*L misses the prefill of one prompt by 10 to 21 % in the
// median and 44 to 62 % at worst, and max(floor, delta*L) by 4 to 6 % and 7 to 11 %
// (TestPrefillTimesWithAFloor).
//
// The last law is why delta multiplies the tokens of the step and not the tokens of
// one prompt times everything that runs beside it: while a request lives at
// batch n, n prompts pass through, and delta*L*n is their sum. Charging
// delta*L*n for each of them would count it n times. So a prompt that arrives
// alone among n-1 decoding requests is prefilled in a step of
// max(alpha, gamma) + beta*(n-1) + delta*L, and the rest of delta*L*n appears
// where the prompts of others delay it: between its tokens.
package serving

// Package serving is one LLM serving replica as a pure, deterministic machine:
// iteration-level continuous batching with chunked prefill, a paged KV cache
// and preemption by recomputation, in the manner of vLLM's scheduler.
//
// It is not a server, and it has no clock. The driver passes the time (as an offset from its own
// epoch), submits requests and takes events. So the emulator in real time and the simulator in
// virtual time run the same code. A Replica is not safe for concurrent use.
//
//	r, err := serving.New(profile, serving.Options{})
//	r.Submit(now, serving.Request{ID: 1, InputTokens: 200, OutputTokens: 100})
//	for at, ok := r.Next(); ok; at, ok = r.Next() {
//		events = r.Advance(at, events[:0])
//	}
//
// # Time
//
// Inputs of one instant come before the Advance to that instant: requests submitted at the same
// time enter the same step. An input at an instant after its Advance takes effect at the next step.
// The size of the driver's steps between inputs changes nothing.
//
// # One step
//
// A step begins when the one before has ended and there is work. In this order:
//
//  1. Every running request gets its next token (decode) or its next chunk of prompt (prefill),
//     oldest first, until MaxBatchedTokens are assigned. When a block of the KV cache is needed and
//     none is free, the youngest running request is preempted: it loses its blocks with all that
//     was computed in them, and returns to the head of the waiting queue. Its output so far stays
//     valid and is recomputed with the prompt.
//  2. If nothing was preempted, waiting requests are admitted in order while
//     the batch is below MaxBatchSize, tokens are left and the blocks of the
//     first chunk are free.
//
// At the end of the step each request whose tokens are all computed returns one token; with its
// last token it finishes and frees its blocks.
//
// # How long a step takes
//
// With D decoding requests, P computed tokens of prompts, and B for a step in which a prompt begins
// (its first chunk), in milliseconds:
//
//	step = max(alpha if D > 0, gamma if B) + beta*D + delta*P
//
// alpha and gamma are the fixed cost of a pass (reading the weights, launching kernels). A mixed
// pass pays it once, hence the maximum; the costs of the tokens add up. From this follow the laws
// of the queueing model that this machine refines:
//
//   - Pure decode of n requests: ITL = alpha + beta*n.
//   - Prefill of n prompts of L tokens in one batch: gamma + delta*L*n. For n = 1 it holds for any
//     L, chunked or not, because a prompt pays gamma with its first chunk only: chunking changes
//     when other requests run, not the cost of a prompt.
//   - A replica that always holds n requests of L tokens in and O out finishes
//     n / (gamma + delta*L*n + (O-1)*(alpha + beta*n)) of them per ms, exactly
//     when they run in lockstep. When they do not, and gamma <= alpha, the
//     difference is less than alpha per lifetime of a request.
//
// On real accelerators a short prompt takes as long as one of some hundred tokens, because reading
// the weights limits a small pass. Where this was measured, PrefillFloorMS is set and gamma is 0 or
// small: a step with P > 0 takes
//
//	step = max(max(alpha if D > 0, gamma if B) + delta*P, floor) + beta*D
//
// and the laws hold where delta*P exceeds the floor. For the profiles that were measured well,
// gamma + delta*L misses the prefill of one prompt by 10 to 21 % in the median and 44 to 62 % at
// worst, and max(floor, delta*L) by 4 to 6 % and 7 to 11 % (TestPrefillTimesWithAFloor).
//
// Because of the last law, delta multiplies the tokens of the step and not the tokens of one prompt
// times the batch: during a request at batch n, n prompts are prefilled, and delta*L*n is their
// sum. Charging delta*L*n for each of them would count it n times. So a prompt that arrives alone
// among n-1 decoding requests is prefilled in a step of max(alpha, gamma) + beta*(n-1) + delta*L,
// and the rest of delta*L*n appears where the prompts of others delay it: between its tokens.
package serving

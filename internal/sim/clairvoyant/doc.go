// Package clairvoyant says what a run of package sim could have cost at best,
// for a policy that knows every arrival: [Bound] is a cost below which no
// schedule of replicas reaches the attainment that is asked for, [Find] looks for
// a schedule that does reach it and is run to prove it. The best possible lies
// between the two.
//
// It is not a policy that could be used: it looks ahead.
//
// # The bound
//
// The cost of a run is the price of a replica times the time that it occupies,
// until the horizon (the last arrival, or Config.Duration). A replica computes
// nothing outside of that time, and steps do not overlap. So a price on the
// replica-time that requests must take is a bound on the cost. Of a request with
// I input and O output tokens that meets its objectives (T for the TTFT, S for
// the ITL) on a variant, in ms, with the law of package serving,
//
//	step = max(alpha if D > 0, gamma if B > 0) + beta*D + delta*P
//
// where D requests decode, B prompts begin and P tokens of prompt are computed,
// this much is its own and nobody else's:
//
//	delta*I          for its prompt: package sim has no prefix cache
//	beta*(O-1)       for the tokens after the first
//
// and of what a step costs whatever is in it, a share. Shares are a valid bound
// if in no step those of all requests add up to more than 1. Three do:
//
//	1/D              of alpha to each that decodes
//	1/(D+B)          of alpha to each that decodes, of gamma to each that begins:
//	                 the maximum is not below the mean
//	h/K              of alpha to each that decodes with h tokens in a KV cache of K
//
// D counts the requests that will meet their objectives; others only make steps
// longer. It is not known, and is bounded from above:
//
//   - A request lives within its window, from its arrival a to
//     a + T + S*(O-1). So D and D+B are at most n, the most windows that overlap
//     at any instant of its own (counted in buckets of a second), and at most
//     the size of the batch. This makes a request dear where it is alone.
//   - It sees sum(alpha + beta*D) <= S*(O-1) over its q = O-1 decoding steps, so
//     that the mean of D is at most (S-alpha)/beta. 1/D is convex, hence the sum
//     of its shares at least q*beta/(S-alpha) (Jensen).
//
// Of the KV cache it holds h = I+j at the j-th of these steps, or
// (O-1)*(I+O/2) in all. Any mixture of shares with weights that add up to 1 is
// valid too; a few are tried and the best bound is taken.
//
// A preemption lets a prompt be computed again in place of one decoding step.
// Where that would take less replica-time than the step (delta*(I+1) against what
// one more step adds), the request keeps only (O-1)*min(beta, delta*(I+1)).
//
// The price of a request is the least over the variants that can serve it within
// its objectives when it is alone there. Then at least Attainment of the arrivals
// of each model have to be paid for: the cheapest ones.
//
// # What is relaxed
//
//   - Replicas are fluid. They start at once and for nothing, are there for any
//     part of a second, and need no stock. Those at the start may be gone at once.
//   - Requests need not be routed: those that run together are those that fit
//     best. Waiting is free up to T.
//   - Prompts delay nobody's tokens, apart from the time they take in all.
//   - What can end after the horizon costs nothing, as in a run: only the prompts
//     that are due, at a + T, and the tokens that are due before it count.
//   - Which requests are missed is chosen in hindsight.
//
// An objective of 0 asks for nothing, so its tokens can wait for ever and are not
// in the bound.
//
// # The schedule
//
// Every Tick of a schedule has a number of replicas for each variant: the
// cheapest cover of the work that is due in it, times a margin. A replica is
// ordered its start-up ahead. The margin is chosen for every stretch of time:
// the whole run is simulated at each of some margins, which gives the misses and
// the cost of every stretch, and a price of a miss then picks one margin for each.
// That price is bisected, each time with a run, for the least cost that keeps the
// attainment. This is done with each variant alone and with all of them. What is
// left of the runs goes into single changes: a replica less over some ticks, kept
// if the attainment is still reached and the cost is less.
//
// It is a search, not an optimum. With several models on a stock that they
// exhaust it may end without an answer where there is one.
//
// Equal input gives equal results. Memory grows with the length of a trace only
// by the buckets (a second for the bound, a tick for the schedule), not by its
// requests.
package clairvoyant

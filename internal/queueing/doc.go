// Package queueing is the queueing view of a Snapshot: how many requests/s
// a model has to serve, and how many of them one replica of each variant serves
// within the objectives.
//
// The demand is that of the model, shared by its variants:
//
//	demand = max(arrival rate + min(backlog / 1 min, one replica), clearing, forecast)
//
// where the backlog is what waits before and in the replicas. A small one is to be
// gone in a minute. Of a large one counts what the replicas that run and were ordered
// do not clear by themselves: clearing is the rate at which it is gone ten minutes
// after a replica that is ordered now is Ready (memory.Queue), so that a queue which
// builds up while replicas start does not order them again. The forecast is the
// arrival rate to be expected when a replica that is ordered now is Ready, while what
// arrives grows beyond doubt ([Look]), and else, where what arrives has risen within the
// last hour, a part more than arrives for each minute until then (headroom).
//
// A queue that stands although the profiles say that all is served contradicts them:
// then the demand is more than there is. Where it stands in all replicas of one
// variant while those of another have none, requests are not shared out by what
// replicas can do, as behind a Service. How they are is remembered, and a fleet is
// full as soon as the replicas of one variant are. Replicas that report nothing count as
// the mean of the others of their variant, if at least half of these report.
//
// Where no way to treat replicas alike explains how requests are shared out, or what a
// replica gets changes with the number of replicas of its variant, they are shared out by
// variant, as by a route with weights. Each variant then has to carry its part, and what
// waits in it: a Ceiling of its own.
//
// A reduction leaves what carries the requests that are being computed, however few
// arrive, and counts a replica as full that does not say what waits in it.
//
// What a replica serves is the greatest rate at which pkg/analyzer, with the
// variant's profile and the measured lengths, keeps TTFT and ITL at the
// percentiles of the Options. Prompt tokens found in the prefix cache need no
// prefill. A variant of which an idle replica misses an objective serves nothing
// within it, and is named in Analysis.Infeasible with what is possible: it buys no
// accelerators while another variant keeps the objective. Where none does, each is
// sized to a tenth above the best that it can. No replica is filled to more than
// 95 % of what full batches complete. Replicas of prefill share their queues, by the endpoint
// picker: each serves more the more of them the arriving prompts need (pooled.go).
//
// The profile is the stated one or, where none is stated, what the replicas of the
// variant showed (package profile). Before it is used it is corrected by the latencies
// that are measured, since in a batch the prefills of others lengthen the ITL of each by
// what the lengths of the hour make of them, and the batch is cut to what the KV cache
// holds, by what the requests of the model were seen to hold lately. Contradictions are
// those of the stated profile.
//
// What is not known makes the analysis Unknown with a reason, and is never
// guessed: no objective, no profile of any variant that runs, stated or learned, no
// arrival rate, no lengths. A variant without a profile beside others that have one carries what it is
// seen to carry, and takes no more. Readings of the model that are not Fresh may grow
// it and never shrink it. Nor
// does a profile that promises less latency than is measured by more than half of
// it, after it was corrected.
package queueing

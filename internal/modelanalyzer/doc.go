// Package modelanalyzer is the queueing view of a Snapshot: how many requests/s
// a model has to serve, and how many of them one replica of each variant serves
// within the objectives.
//
// The demand is that of the model, shared by its variants:
//
//	demand = max(arrival rate + min(backlog / 1 min, one replica), forecast)
//
// where the backlog is what waits before and in the replicas. It buys one replica
// at most: arrivals are counted as they arrive, so that a queue which builds up
// while replicas start does not order them again. The forecast is the arrival rate
// to be expected when a replica that is ordered now is Ready, while what arrives
// grows beyond doubt ([Look]).
//
// What a replica serves is the greatest rate at which pkg/analyzer, with the
// variant's profile and the measured lengths, keeps TTFT and ITL at the
// percentiles of the Options. Prompt tokens found in the prefix cache need no
// prefill. A variant of which an idle replica misses an objective serves nothing
// within it: it is named in Analysis.Infeasible with what is possible, and buys
// no accelerators.
//
// Before that a profile is corrected by the latencies that are measured, since in a
// batch the prefills of others lengthen the ITL of each by what the lengths of the
// hour make of them, and the batch is cut to what the KV cache holds, by what the
// requests of the model were seen to hold lately. Contradictions are those of the
// stated profile.
//
// What is not known makes the analysis Unknown with a reason, and is never
// guessed: no objective, no profile of a variant that runs, no arrival rate, no
// lengths. Readings that are not Fresh may grow a model and never shrink it. Nor
// does a profile that promises less latency than is measured by more than half of
// it, after it was corrected.
package modelanalyzer

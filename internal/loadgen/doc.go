// Package loadgen sends a workload to an OpenAI compatible endpoint and measures what its
// users would see.
//
// # Open loop
//
// Every request has its own send time, and no request waits for the answer to another. So a slow
// server gets the same load as from its users, and not a load that slows down with it. The delay of
// each request is measured (send lag). While Options.MaxInFlight are under way, the next ones are
// not sent and count as errors of kind [NotSent]. Nothing is dropped silently.
//
// # What is measured
//
// Each request is a streamed completion (POST /v1/completions, server-sent events).
// Latencies start when the request is handed to the HTTP client; time spent before that is
// send lag, not latency.
//
//	TTFT  from the start to the first event that carries text
//	ITL   per request: (last - first event) / (tokens - 1), tokens as reported
//	      in the stream's usage, else one per event
//	gaps  every time between two successive events, of all requests
//	e2e   from the start to the end of the stream
//
// Attainment is the share of ALL requests with TTFT and ITL within the objectives; a
// request that failed or was not sent is a miss. An interrupted request (Ctrl-C) is a miss
// if it was already late; otherwise it is left out, because its outcome is unknown.
//
// Percentiles are exact up to 131,072 values per quantity; beyond that they are those of a
// uniform sample of that size, whose rank error at p99 has a standard deviation of 0.03 %.
// Counts, means and maxima are always exact.
package loadgen

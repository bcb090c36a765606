// Package workload says when requests arrive at a model and how long they are:
// synthetic profiles and recorded traces, as sequences of [Request].
//
// It sends nothing and has no clock. Arrivals are open loop: as with independent users, they never
// depend on the answers to earlier requests.
//
// # Arrivals
//
// A [Profile] is a sequence of segments, written as text and parsed by
// [ParseProfile]. Rates are requests/s, durations are Go durations:
//
//	constant(8,60s)          8 requests/s for a minute
//	ramp(0.5->8,60s)         from 0.5 to 8 requests/s, linearly
//	step(1->8,20s,60s)       1 request/s for the first 20 s of 60 s, then 8
//	sine(1->8,30s,120s)      between 1 and 8 with a period of 30 s, from the low point
//	onoff(4,5m,10m,1h)       4 requests/s for 5 minutes, none for 10, for an hour
//	flash(1->20,2m,45s,10m)  1 request/s, 20 from 2m on, falling back within minutes
//	gamma(8,60s,cv=3)        8 requests/s on average, in bursts
//
// Segments joined with commas follow each other:
// "ramp(0.5->8,60s),constant(8,60s),ramp(8->0.5,30s),constant(0.5,60s)".
//
// All but gamma are Poisson processes with rate r(t), drawn by exact inversion:
// if S1 < S2 < ... is a Poisson process of rate 1, then R⁻¹(S1) < R⁻¹(S2) < ...
// with R(t) = ∫r is one of rate r (Çinlar, Introduction to Stochastic
// Processes, 1975, §4.7). Thinning would give the same law with more draws.
//
// gamma is a stationary renewal process: gaps are Gamma distributed with shape 1/cv² and mean
// 1/rate, one of the families that ServeGen (arXiv 2505.09999) fits to production clients; cv = 1
// is Poisson, above it arrivals cluster. The first gap is drawn from the equilibrium distribution,
// so that rate × duration requests are expected for any cv (an ordinary start adds (cv²-1)/2).
//
// # Lengths
//
// [ChatLengths] is lognormal with the mean lengths published for ShareGPT; its comment says which
// numbers are cited and which are ours. [ConstantLengths] has no spread.
//
// # Traces
//
// [ReadTrace] streams a CSV with the columns arrival_s, input_tokens and output_tokens, [ReadLog]
// the public logs of Azure, BurstGPT and Mooncake as well, and [ReadRates] makes a profile of a
// curve of rates. [Stretches] are measured rates and lengths that follow each other. [Share] splits
// or thins any of them, request by request.
package workload

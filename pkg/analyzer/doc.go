// Package analyzer has queueing models of one serving replica: which latency follows
// from a rate of requests, and which rate a latency allows.
//
// A QueueAnalyzer is a replica that computes up to MaxBatch requests together, with a
// queue in front. A ServiceModel says how long requests take at each batch size;
// FourParameter and ThreeParameter are the published ones. With n requests together,
// r_n = n/Total(n) of them leave per ms, and the number of requests in the replica is
// a birth-death chain:
//
//	p_n = p_(n-1) rate / r_min(n, MaxBatch),   n = 1 .. MaxBatch + MaxQueue
//
// Analyze gives the means, PercentileTTFT, ShareWithinTTFT and PercentileITL the
// distribution, and Size the greatest rate that keeps targets for them. Published is
// the same replica as the published versions see it, for comparisons with old numbers.
//
// Beside it stand the models that it is made of or that bound it: MM1KModel,
// MM1StateDependent, MG1Model and MG1KModel. Their times and rates have whatever unit
// their caller uses; those of QueueAnalyzer are ms and requests/s.
//
// All types are values that are safe for concurrent use. Values out of range yield an
// *InputError that names the field, targets that no rate meets a *TargetError with
// the best achievable value; there is no answer beside an error.
//
// The package knows no replicas in the plural, no costs and no measurements: how many
// replicas a load needs is decided on top of it.
package analyzer

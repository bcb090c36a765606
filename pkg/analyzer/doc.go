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
// Analyze returns the means, PercentileTTFT, ShareWithinTTFT and PercentileITL the distribution,
// and Size the greatest rate that meets targets. Published analyzes the same replica as the
// published versions do, for comparisons with old numbers.
//
// The package also has the models of which it is made or that bound it: MM1KModel,
// MM1StateDependent, MG1Model and MG1KModel. The caller chooses their units of time and rate; those
// of QueueAnalyzer are ms and requests/s.
//
// All types are values that are safe for concurrent use. A value out of range yields an *InputError
// that names the field. A target that no rate meets yields a *TargetError with the best achievable
// value. Results beside an error are zero.
//
// The package models a single replica, without costs and measurements: its callers decide how many
// replicas a load needs.
package analyzer

// Package core holds the nouns of an allocation problem as values: Accelerator, Model,
// ServiceClass, Server, Allocation and the System that they make up. There is no global system;
// values are immutable and safe for concurrent use.
//
// It computes how many replicas of one accelerator one server needs, what they cost, and which
// latency they give (CreateAllocation). With the queueing model of pkg/analyzer and the objectives
// of the service class it finds the greatest rate r that one replica serves within them; then
//
//	replicas = max(ceil(demand / r), minimum)
//	cost     = replicas x accelerators per replica x cost of an accelerator
//
// The value of a candidate is its cost less that of the current replicas; a move to another
// accelerator adds a tenth of both:
//
//	value = cost' - cost                               on the same accelerator
//	value = cost' - cost + (cost' + cost) / 10         on another
//
// pkg/solver chooses the candidate of each server.
//
// The units are requests/s, ms, tokens, W and cost per hour. FromConfig converts the units of the
// document.
package core

// Package core holds the nouns of an allocation problem as values: Accelerator,
// Model, ServiceClass, Server, Allocation and the System that they make up. There
// is no global system; values are not modified after they are made, and are safe
// for concurrent use.
//
// What it computes is one thing: how many replicas of one accelerator one server
// needs, what they cost, and which latency they give (CreateAllocation). With the
// queueing model of pkg/analyzer and the objectives of the service class it finds
// the greatest rate r that one replica serves within them; then
//
//	replicas = max(ceil(demand / r), minimum)
//	cost     = replicas x accelerators per replica x cost of an accelerator
//
// The value of a candidate is its cost against that of what runs now; a move to
// another accelerator adds a tenth of both:
//
//	value = cost' - cost                               on the same accelerator
//	value = cost' - cost + (cost' + cost) / 10         on another
//
// Which candidate each server gets is for pkg/solver to say.
//
// Units inside: requests/s, ms, tokens, W, cost per hour. FromConfig converts the
// units of the document.
package core

// Package scalefromzero decides how a model of which no replica is Ready serves
// the requests that wait for it: which variant is called, and for how many
// replicas.
//
// The cheapest variant that fits is called first, by cost, accelerators of a
// replica, and name. While it may still become Ready, no other is. One that no
// node takes for a minute, that a constraint refuses, or that is not Ready in the
// time that it usually takes, stays called and the next is called too. It is called
// for what serves the arrivals and clears the backlog in a stated time, less what
// starts already:
//
//	replicas = ceil((arrival rate + backlog / clear - starting) / capacity)
//	backlog  = what waited at the call + arrival rate * start-up
//	clear    = max(5 min, 3 * start-up)
//	starting = replicas of other variants that were called and may become Ready, * their capacity
//
// Where the only replica that was ordered is not Ready in time and its variant has started before, one more is
// ordered: the pod may be broken. Of several that are not Ready no more are ordered.
//
// So the requests that wait for the start-up buy a third of what the arrivals buy
// at most. Those that arrive after it, because replicas are late, buy nothing more: the
// replicas that were ordered clear them. The capacity of a replica is what the queueing model says of its profile within the objective of
// the model (internal/queueing); without one, the requests that it computes
// together over the time that each takes, by its profile or else assumed to be 20 s.
// A start-up that is not known is assumed to be 2 minutes.
//
// It is the decision alone, for one model at one instant. It neither looks for
// waiting requests nor sets replicas, and it ends with the first replica that is
// Ready: from there the optimizer knows more. Taking a model to zero is a stage of
// package constrain.
package scalefromzero

// Package scalefromzero decides how a model of which no replica is Ready serves
// the requests that wait for it: which variant is called, and for how many
// replicas.
//
// The cheapest variant that fits is called first, by cost, accelerators of a
// replica, and name. While it may still become Ready, no other is. One that no
// node takes for a minute, that a constraint refuses, or that is not Ready in the
// time that it usually takes, stays called and the next is called too. The backlog,
// with what arrives during a start-up, says how many replicas are called:
//
//	replicas = ceil((waiting + arrival rate * start-up) / requests that one replica computes together)
//
// It is the decision alone, for one model at one instant. It neither looks for
// waiting requests nor sets replicas, and it ends with the first replica that is
// Ready: from there the optimizer knows more. Taking a model to zero is a stage of
// package constrain.
package scalefromzero

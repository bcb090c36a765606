// Package model decides one model with the engine that its settings name, from a Snapshot
// to the decisions before any constraint.
//
//	saturation  what replicas report of themselves: how full they are, or the
//	            tokens that they hold
//	queueing    a queueing model and the objectives of the service class
//	hybrid      both: either may make the model grow, both must agree to shrink
//	published   spare capacity by the published rule, one replica at a time
//
// Under hybrid, saturation takes the capacity of a variant without readings from the
// queueing model. A variant that the queueing model marks as fixed gets no more replicas.
//
// An analyzer that was Unknown for three intervals is not live and has no vote: a missing
// profile must not block a model for ever, and a gap of one cycle must not shrink it. While
// the analyzer of engine queueing is not live, saturation decides in its place and every
// decision says so. With no live analyzer the model does not shrink. The History holds when
// each analyzer was last live. So a new process removes no replica before it has
// measurements, and a replay decides like the cycle.
//
// The queueing model itself is in internal/queueing. This package sees one model only:
// internal/constrain decides what models take from each other.
package model

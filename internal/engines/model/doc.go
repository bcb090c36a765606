// Package model decides one model with the engine that its settings name, from a
// Snapshot to the decisions before any constraint.
//
//	saturation  what replicas report of themselves: how full they are, or the
//	            tokens that they hold
//	model       a queueing model and the objectives of the service class
//	hybrid      both: either may make the model grow, both must agree to shrink
//	published   spare capacity by the published rule, one replica at a time
//
// Under hybrid a variant that shows no load is as large to saturation as it is to the
// queueing model, and one that the queueing model calls fixed gets no more replicas.
//
// An analyzer that has known nothing of the model for three intervals is not live
// and has no vote: a missing profile must not pin a model for ever, and a gap of
// one cycle must not shrink it. While the analyzer of engine model is not live,
// saturation decides in its place and every decision says so. With none live
// nothing shrinks. What this takes to be remembered is in the History, so that a
// new process shrinks nothing until it knows something itself, and a replay finds
// what the cycle found.
//
// It is not the queueing model itself (internal/queueing), and it knows no
// other model: what models take from each other is for internal/constrain.
package model

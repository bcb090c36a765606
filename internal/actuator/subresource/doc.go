// Package subresource carries decisions out by the scale subresource of their
// targets, of any kind that has one, for the variants whose objects ask for it by
// the annotation wva.llmd.ai/actuation. Whose turn it is says scaling.Scalers.Turn;
// this package does what is its own.
//
// After a plan was published:
//
//	read the object    gone, deleted, paused, or asks no more: nothing is done
//	read the scale     live; somebody else was faster: nothing is done
//	set the scale      conflict: both are read again, five times at most
//
// What could not be done is a Trouble of the variant until an attempt succeeds or
// none is needed, and the next cycle is the retry. A process that may no longer
// lead, whose context has ended, does nothing.
//
// No target stands in the way of the others:
//
//	each target               two seconds
//	all of a plan             ten seconds, eight at a time, two of one namespace
//	starts from zero          first
//	without an answer before  last
//
// What another changes each time after it was set, where none should, is set after a
// pause from the third time on: one second, twice as long each time, a minute at most.
// What another takes away of a start from zero, without a lower decision, is set once
// more while the replicas start.
//
// Before a plan with fewer replicas is published, the pods with the fewest requests
// in flight are marked to go first, where the manager may do that:
//
//	replicas       pods                    marks
//	are to go      of one to stay are set  of those that are to go, once
//	as decided     too many                as they are, until the pods have gone
//	as decided     as many                 are taken away
//
// A mark is the annotation controller.kubernetes.io/pod-deletion-cost (Kubernetes,
// "ReplicaSet: Pod deletion cost") together with one that says that it is ours.
// Where pods have costs of somebody else, nothing is marked. Of a Deployment or
// ReplicaSet alone: the order in which others lose pods is fixed.
package subresource

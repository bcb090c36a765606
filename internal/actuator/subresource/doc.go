// Package subresource carries decisions out through the scale subresource of their targets,
// of any kind that has one, for the variants whose objects ask for it by the annotation
// wva.llmd.ai/actuation. scaling.Scalers.Turn says which scaler sets a target now; this
// package sets those that are its own.
//
// After a plan was published:
//
//	read the object    gone, deleted, paused, or without the annotation: end
//	read the scale     live; another scaler has already acted: end
//	set the scale      on a conflict read both again, five times at most
//
// A failed attempt is a Trouble of the variant until an attempt succeeds or none is needed.
// The next cycle retries. A process whose context has ended does nothing, because it may no
// longer lead.
//
// Limits keep one target from delaying the others:
//
//	each target               two seconds
//	all targets of a plan     ten seconds, eight at a time, two of one namespace
//	starts from zero          first
//	no answer the last time   last
//
// Where another client changes the replicas each time after this process set them, and only
// this process should, it pauses before it sets them again. The pauses begin with the third
// time: one second, twice as long each time, a minute at most. Where another client removes
// replicas of a start from zero without a lower decision, this process sets them once more
// while the replicas start.
//
// Before a plan with fewer replicas is published, the pods with the fewest requests in
// flight are marked to end first, where the manager has the right to mark pods:
//
//	replicas          pods                 marks
//	above decision    as many as replicas  set once, on the pods that are to end
//	as decided        too many             unchanged, until the pods have ended
//	as decided        as many as replicas  removed
//
// A mark is the annotation controller.kubernetes.io/pod-deletion-cost (Kubernetes,
// "ReplicaSet: Pod deletion cost") together with one that says that it is ours. Where pods
// have costs of another client, none is marked. Only pods of a Deployment or ReplicaSet are
// marked: other kinds remove pods in a fixed order.
package subresource

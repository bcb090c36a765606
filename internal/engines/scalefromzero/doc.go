// Package scalefromzero decides which variant starts, and with how many replicas, when
// requests wait for a model that has no Ready replica.
//
// The cheapest variant that fits is called first, by cost, accelerators of a replica, and
// name. While it may still become Ready, no other variant is called. A variant stays
// called, and the next one is called too, where no node takes it for a minute or only another
// variant has room, a constraint refuses it, or it is not Ready in its usual time. The called
// variant gets the replicas that serve the arrivals and clear the backlog in a stated time, less
// the replicas that already start:
//
//	replicas = ceil((arrival rate + backlog / clear - starting) / capacity)
//	backlog  = requests waiting at the call + arrival rate * start-up
//	clear    = max(5 min, 3 * start-up)
//	starting = replicas of other variants that were called and may become Ready, * their capacity
//
// Where only one replica was ordered, it is not Ready in time, and its variant has started
// before, one more is ordered: the pod may be broken. Where several are not Ready, no more
// are ordered.
//
// So the requests that arrive during the start-up order at most a third of the replicas
// that the arrival rate orders. Requests that arrive later, because replicas are late,
// order no more: the ordered replicas clear them. The capacity of a replica is what the
// queueing model computes from its profile within the objective of the model
// (internal/queueing). Without a profile it is the batch size over the time of a request,
// which is assumed to be 20 s. An unknown start-up time is assumed to be 2 minutes.
//
// The package only decides, for one model at one instant. It neither looks for waiting
// requests nor sets replicas. From the first Ready replica on, the optimizer decides.
// Package constrain takes a model to zero.
package scalefromzero

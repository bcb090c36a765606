// Package counterfactual says of the decision for one variant why it is not another one, and what would
// change it. Each answer is what cycle.Setup.Decide decides of a changed input: there is no second model
// of the decision here. It is computed when it is asked for, never in a cycle.
//
//	question                       changed input
//	why not one fewer              a limit of the variant is lifted: minReplicas, then pace, then retention
//	                               where none holds it: the fleet at rest, with one replica fewer
//	why not the other variant      the same fleet, in which only the other variant may grow
//	what makes it grow, or shrink  the readings of the model that grow with load, times one factor
//	when its order is late         the same readings at a later time, after this cycle
//
// Load: [Loaded] multiplies the arrival rate, the queue of the gateway and, of each replica, KV cache
// usage, queue and running requests by the factor; requests that a KV cache has no room for wait then. Where the load falls, the measured TTFT and
// ITL fall as the profiles expect them to, so that a profile which promises too little is contradicted as it
// is now. Lengths, counters of the past and the history stay: the question is what this cycle would have
// decided if it had found that load. The nearest
// factor is looked for on a grid of 27 factors from 1 up to 100, or down to 0.01, then by bisection to
// [Precision]. Decisions need not be monotonic in the load (a trend of arrivals, the shares of variants):
// what is found is the change nearest to the present load by this grid, and a Turn says whether it stays
// so for larger changes.
//
// A fleet at rest: every variant has the replicas decided, or one fewer, all Ready for an hour, with the
// readings of its replicas spread evenly over them, their sum as it was. No limit of pace, and for the
// question why not one fewer no limit of accelerators either, keeps the cycle from ordering: what it
// orders is what the fleet lacks. The latencies expected of that fleet are those of the profiles that the
// decision sizes with.
//
// What the input does not hold has no answer: an HPA that does not follow, a decision that waits for an
// approval, the load of later cycles.
package counterfactual

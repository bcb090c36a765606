// Package counterfactual says of the decision for one variant why it is not another one, and what
// would change it. Each answer is the decision of cycle.Setup.Decide on a changed input: there is
// no second model of the decision here. Answers are computed on request, never in a cycle.
//
//	question                       changed input
//	why not one fewer              minReplicas, pace, retention, approval or freeze window lifted;
//	                               where none holds it: the fleet at rest, one replica fewer
//	why not the other variant      the same fleet, in which only the other variant may grow
//	what makes it grow, or shrink  the readings of the model that grow with load, times one factor
//	when its order is late         the same readings at a later time, after this cycle
//
// Load: [Loaded] multiplies the arrival rate, the queue of the gateway and, of each replica, KV
// cache usage, queue and running requests by the factor; requests without room in the KV cache then
// wait. Where the load falls, the measured TTFT and ITL fall in the proportion that the profiles
// expect, so that a measurement contradicts a too optimistic profile as much as it does now.
// Lengths, counters of the past and the history stay: the question is what this cycle would have
// decided under that load. The search for the nearest factor tries a grid of 27 factors up to 100,
// or down to 0.01, then bisects to [Precision]. Decisions need not be monotonic in the load (a
// trend of arrivals, the shares of variants): the search finds the change nearest to the present
// load on this grid, and a Turn says whether larger changes of the load reverse it.
//
// A fleet at rest: every variant has had the decided replicas, or one fewer, all Ready, for an
// hour. The readings of its replicas are spread evenly over them, with the same sum. Pace does not
// limit the cycle, nor, for the question why not one fewer, do accelerators: what the cycle orders
// is what the fleet lacks. The latencies expected of that fleet come from the profiles that the
// decision sizes with.
//
// There is no answer for what the input does not hold: an HPA that does not follow, a decision that
// waits for an approval, the load of later cycles.
package counterfactual

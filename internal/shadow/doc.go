// Package shadow compares what ran with what was decided: over a time, for each model, from looks at
// cycles that were recorded. It computes and reads nothing.
//
// Each [Look] stands until the next one, at most for three intervals. Where a target was not read, or
// nothing was decided, the time counts for neither side. There are three courses of replicas:
//
//   - Ran: what the targets asked for, and the replicas of them that were Ready.
//   - Decided: what was decided on in the same cycles. A decision is computed from what ran, so a replica
//     that was decided on and never ordered counts from the decision on, and serves once it has been
//     decided on for the usual start-up of its variant.
//   - Hindsight: the cheapest replicas for each look by itself, which serve at once; what ran where the
//     demand is not known. A schedule has to order replicas ahead and is no cheaper by the same model,
//     so it is a lower bound.
//
// GPU hours and cost are sums of replicas over time. The part of the requests within the objectives is
// measured for what ran (scaling.Snapshot.Missed), and expected of all three by the model of a replica
// that the cycle decided by: replicas that carry S requests/s within the objectives, of D that arrive
// and wait, miss
//
//	max(0, 1 - S / D)
//
// of them. So an expectation never sees a request that is late although its replica has room; the
// expectation for what ran beside its measurement says how much that is. Regret is
//
//	cost + price of a miss x requests that are expected to miss - the same of hindsight
//
// It is not known where nothing is sized to objectives, since no request can miss an objective there.
package shadow

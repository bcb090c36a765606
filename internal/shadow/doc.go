// Package shadow compares what ran with what was decided: over a time, for each model, from the
// cycles that were recorded. It decides nothing and reads nothing itself.
//
// Each [ModelCycle] counts until the next one, at most for three intervals or one minute, whichever is
// longer. Where a target was not read, or nothing was decided, the time counts for no course. There
// are three courses of replicas:
//
//   - Ran: the replicas that the targets asked for, and those of them that were Ready.
//   - Decided: the replicas decided on in the same cycles. A replica that was decided on and never
//     ordered counts from the decision on, and serves once it has been decided on for the usual
//     start-up of its variant. The decisions themselves are computed from what ran.
//   - Hindsight: the cheapest replicas for each cycle by itself, which serve at once; those of Ran
//     where the arrival rate or the demand is unknown. A schedule has to order replicas ahead and is
//     no cheaper by the same model, so Hindsight is a lower bound.
//
// GPU hours and cost are sums of replicas over time. The part of the requests within the objectives is
// measured for Ran (scaling.Snapshot.Missed). For all three courses it is expected by the model of
// a replica that the cycle decided by: replicas that carry S requests/s within the objectives, at a
// demand of D requests/s, miss this part:
//
//	max(0, 1 - S / D)
//
// So an expectation never counts a request that is late although its replica has room; for Ran, the
// difference of expectation and measurement says how many these are. Regret is
//
//	cost + price of a miss x requests that are expected to miss - the same of hindsight
//
// It is unknown where nothing is sized to objectives, since no request can miss an objective there.
package shadow

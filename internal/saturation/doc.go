// Package saturation is what replicas report of themselves: Published is the
// published rule of spare capacity, Analyze measures how many replicas are missing
// beside it, Tokens counts tokens.
//
// # Spare capacity
//
// How much KV cache and how much queue the replicas of a model have left, and
// whether that calls for one replica more or allows one less.
//
// The arithmetic of Published is the published one. A replica is saturated when its KV cache
// usage reaches KVCacheThreshold or its queue reaches QueueLengthThreshold. What
// is left to those thresholds is the spare of a replica that is not saturated;
// the spare of a variant is the mean over them, that of the model the mean over
// its variants weighted by their number. With N replicas that are not saturated
//
//	grow    if spareKV < KVSpareTrigger or spareQueue < QueueSpareTrigger
//	shrink  if N >= 2 and, with loads L = threshold - spare,
//	        threshold - L*N/(N-1) >= trigger, for both
//
// Further rules keep it from acting on unknown readings:
//
//   - Replicas that are Ready and silent count as idle when growing and as full
//     when shrinking; where that changes the direction, the model holds. Growth
//     waits for them only if the known load would fit with their help: one idle
//     replica does not excuse twenty overloaded ones.
//   - Stuck replicas (frozen or sick) have no readings and are silent in this
//     sense. The Detail names them.
//   - A replica whose readings are Aging or Stale counts as full when shrinking, too.
//   - A peak that was measured before the newest replica was Ready describes a
//     smaller fleet. Until it has left the window, growth needs the latest
//     readings to agree, so that constant demand does not order twice.
//   - The published test for shrinking ignores the load of saturated replicas
//     and treats all replicas as equal. Demand and Supply here include that load
//     and weight replicas by KV capacity, and the optimizer removes a replica
//     only if Demand fits into the Supply that remains.
//
// # How many replicas are missing
//
// Analyze grows a model where Published does, and says by how much. The load of a
// replica is its KV cache usage over that at which growth begins. A queue makes a
// replica full, and says no more, since its length depends on how long it has
// lasted. The demand is the sum of the loads, at least one replica more than there
// are. Where a queue lasts in every replica of a variant, the gateway does not
// share requests by room: a variant that can grow gets a ceiling of its own, see queues.relief;
// otherwise all replicas count as full as those, unless the others are idle. While
// replicas are full and requests wait, their load does not tell how many are
// missing: then
//
//	arrivals and what clears the backlog / what a replica completes
//
// is a ceiling, by Little's law. A peak that has passed orders nothing: the model
// grows only while at the last scrape some replica is at 80 % or more of the load
// at which growth begins, or requests wait at the gateway. A variant without a
// replica that reports counts as large as the largest where the model grows, and
// no fleet moves to it.
//
// # Tokens
//
// The capacity of a replica is the lesser of two: the tokens of its KV cache that
// the policy allows, and those that replicas were seen to hold with a full queue,
// or, without such an observation, those that the arguments of its engine imply.
// The capacity of a variant is the median of its replicas, or the one last seen. A
// queue counts where a full cache or a full batch explains it, and for four hours.
// A replica of a variant that computes a request faster by its profile counts for
// more. The demand is the tokens that are held and that wait, see meter.demand.
// Memory is a stock and compute a rate, so that the analysis has further ceilings,
// by the arrival rate: the requests of a batch, and the time that prefill and
// decode take. Relieved adds one for each variant that drowns while others have room, as
// Analyze has it. The caller keeps what is to be remembered, and passes it in with
// the next Snapshot.
//
// Neither analysis is a latency model: they know no objective and see a queue only
// once it exists.
package saturation

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
// Around it stand the rules that keep it from acting on what it does not know:
//
//   - Replicas that are Ready and silent count as idle when growing and as full
//     when shrinking; where that turns the direction, the model holds. They turn
//     it only if the load that is known would fit with their help: one idle
//     replica does not excuse twenty that drown.
//   - Replicas that are stuck (holding requests while nothing moves, be their
//     gauges frozen or they themselves sick) have no readings and are silent in
//     this sense: neither demand nor survivors. The Detail names them.
//   - A replica whose readings are Aging or Stale counts as full when shrinking, too.
//   - A peak that was measured before the newest replica was Ready describes a
//     smaller fleet. Until it has left the window, growth needs the latest
//     readings to agree, so that constant demand does not order twice.
//   - The published test for shrinking forgets the load of saturated replicas
//     and takes all replicas for equal. Demand and Supply here count both, in
//     replicas weighted by KV capacity, and the optimizer removes a replica only
//     if Demand fits into the Supply that remains.
//
// # How many replicas are missing
//
// Analyze grows a model where Published does, and says by how much. The load of a
// replica is its KV cache usage over that at which growth begins; a queue makes a
// replica full, and says no more, since its length tells how long that has lasted.
// The demand is the sum of that, at least one replica more than there are. Where a
// queue stands in every replica of a variant, requests are shared out by another
// measure than room, and all count as full as those, unless the others do nothing. While replicas are full and
// requests wait, how full they are does not tell how many are missing: then
//
//	arrivals and what clears the backlog / what a replica completes
//
// is a ceiling, by Little's law. A peak that is over orders nothing: it grows only
// while at the last scrape some replica is filled to 80 % or more of where growth
// begins, or requests wait at the gateway. A variant that shows no load is taken for as large as
// the largest where the model grows, and is no reason to move a fleet to it.
//
// # Tokens
//
// A replica holds as many tokens as the policy allows of its KV cache, or as many
// as it was seen to hold with a full queue, or as its engine's arguments imply:
// whichever is least; a variant the median of that over its replicas, or what was
// last seen of it. A queue counts where a full cache or a full batch explains it, and
// for four hours. Of variants that compute a request faster by their profiles, a replica
// counts for more. The demand is what is held and what waits, see meter.demand.
// Memory is a stock and computing a rate, so that the analysis has further
// ceilings, of what arrives: the requests of a batch, and the time that prefill
// and decode take. What is to be remembered is returned, and given back with the
// next Snapshot.
//
// Neither is a latency model: they know no objective and see a queue only once it
// exists.
package saturation

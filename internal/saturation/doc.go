// Package saturation is what replicas report of themselves, in two ways: Analyze
// measures spare capacity, Tokens counts tokens.
//
// # Spare capacity
//
// How much KV cache and how much queue the replicas of a model have left, and
// whether that calls for one replica more or allows one less.
//
// The arithmetic is the published one. A replica is saturated when its KV cache
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
//   - Aging readings may grow a model and never shrink it.
//   - A peak that was measured before the newest replica was Ready describes a
//     smaller fleet. Until it has left the window, growth needs the latest
//     readings to agree, so that constant demand does not order twice.
//   - The published test for shrinking forgets the load of saturated replicas
//     and takes all replicas for equal. Demand and Supply here count both, in
//     replicas weighted by KV capacity, and the optimizer removes a replica only
//     if Demand fits into the Supply that remains.
//
// # Tokens
//
// A replica holds as many tokens as the policy allows of its KV cache, or as many
// as it was seen to hold with a full queue, or as its engine's arguments imply:
// whichever is least; a variant the median of that over its replicas, or what was
// last seen of it. The demand is what is held and what waits, see meter.demand.
// Memory is a stock and computing a rate, so that the analysis has further
// ceilings, of what arrives: the requests of a batch, and the time that prefill
// and decode take. What is to be remembered is returned, and given back with the
// next Snapshot.
//
// Neither is a latency model: they know no objective and see a queue only once it
// exists.
package saturation

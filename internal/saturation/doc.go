// Package saturation is the spare-capacity view of a Snapshot: how much KV
// cache and how much queue the replicas of a model have left, and whether that
// calls for one replica more or allows one less.
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
// It is not a latency model: it knows no objective and sees a queue only once
// it exists.
package saturation

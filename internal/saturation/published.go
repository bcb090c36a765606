package saturation

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Published says by the published rule whether the model of snap has too little spare capacity,
// enough, or more than it needs: one replica more, or one less. The Signal is Unknown when no
// replica reports.
func Published(snap scaling.Snapshot, p Thresholds) scaling.Analysis {
	samples := snap.Sorted()
	peaks := loads(samples, peak)
	a := scaling.Analysis{Model: snap.Model, Analyzer: Name, Unit: scaling.UnitReplicas, Reason: scaling.ReasonNoData}
	if len(peaks) == 0 {
		a.Detail = silence(snap, scaling.Replicas(len(samples))) + stuck(snap, samples)
		return a
	}
	spare := measure(peaks, p)
	capacities(&a, snap.Variants, samples, p)
	a.Signal, a.Reason, a.Detail = direction(snap, samples, spare, p)
	a.Detail += stuck(snap, samples)
	return a
}

// direction returns the signal for the spare capacity, and holds where unknown readings could
// change it.
func direction(snap scaling.Snapshot, samples []scaling.ReplicaSample, spare Spare, p Thresholds) (scaling.Signal, scaling.Reason, string) {
	detail := fmt.Sprintf("%d of %d replicas are not saturated, with a mean spare of KV %.2f (grows below %.2f) and queue %.1f (grows below %.1f)",
		spare.NonSaturated, spare.Replicas, spare.KV, p.KVSpareTrigger, spare.Queue, p.QueueSpareTrigger)
	if short, why := spare.short(p); short {
		if doubt := doubtGrowth(snap, samples, p); doubt != "" {
			return scaling.Steady, scaling.ReasonSteady, why + ", but " + doubt
		}
		return scaling.Grow, scaling.ReasonSaturated, why
	}
	if !spare.allowsOneLess(p) {
		return scaling.Steady, scaling.ReasonSteady, detail
	}
	unsure := doubtful(samples)
	if len(unsure) > 0 && !measure(loads(samples, certain), p).allowsOneLess(p) {
		return scaling.Steady, scaling.ReasonSteady, detail + "; not reduced: " + countedAsFull(unsure)
	}
	if len(unsure) > 0 {
		detail += "; " + names(unsure) + ", without fresh readings, count as full"
	}
	return scaling.Shrink, scaling.ReasonSpareCapacity, detail
}

// doubtGrowth says why a shortage in the peaks is no reason to grow, "" where it is one.
func doubtGrowth(snap scaling.Snapshot, samples []scaling.ReplicaSample, p Thresholds) string {
	if silent := silentPods(samples); len(silent) > 0 && fitsWithIdle(snap.Variants, samples, p) {
		return fmt.Sprintf("the load would fit if %s, Ready and silent, is idle", names(silent))
	}
	if snap.Young() {
		if short, _ := measure(loads(samples, latest), p).short(p); !short {
			return "the peaks are older than the newest replica and the latest readings show spare capacity"
		}
	}
	return ""
}

// loads returns the load of every sample for which read returns true. An unknown reading counts as
// idle.
func loads(samples []scaling.ReplicaSample, read func(scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool)) []load {
	out := make([]load, 0, len(samples))
	for _, s := range samples {
		if kv, queue, ok := read(s); ok {
			out = append(out, load{variant: s.Variant, pod: s.Pod, kv: kv.Or(0), queue: queue.Or(0)})
		}
	}
	return out
}

// peak returns the largest load of a replica in the window.
func peak(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
	return s.KVCacheUsage, s.QueueLength, s.Reports()
}

// certain returns the largest load of a replica in the window, and false where it is unsure.
func certain(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
	return s.KVCacheUsage, s.QueueLength, !unsure(s)
}

// latest returns the load of a replica at its last scrape, or its peak where the source has no
// latest value.
func latest(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
	kv, queue = s.KVCacheUsageNow, s.QueueLengthNow
	if !kv.Known() {
		kv = s.KVCacheUsage
	}
	if !queue.Known() {
		queue = s.QueueLength
	}
	return kv, queue, s.Reports()
}

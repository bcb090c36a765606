package queueing

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// limitToServed limits the rate of a replica to what full replicas start, while more requests wait
// than there are replicas and their number does not fall. Once a KV cache is full, preempted
// requests are computed again, and no profile tells how often. A variant of which fewer than half
// of the replicas are full keeps what its profile promises.
func limitToServed(sized []sizing, load load, snap scaling.Snapshot, past Memory) {
	if !queueStands(sized, load, snap, past, snap.Window) {
		return
	}
	full, started := map[scaling.VariantKey]float64{}, map[scaling.VariantKey]float64{}
	for _, r := range snap.Sorted() {
		if r.Stuck == "" && r.Waiting().Or(0) >= 1 && r.Pace.Started > 0 {
			full[r.Variant]++
			started[r.Variant] += r.Pace.Started
		}
	}
	for i, s := range sized {
		count := full[s.variant.Key]
		if ready, _ := s.replicas(); count == 0 || count < ready/2 {
			continue
		}
		served := started[s.variant.Key] / count
		sized[i].most = min(s.most, served)
		if served < s.rate {
			sized[i].rate, sized[i].source = served, "full replicas start no more, and requests wait"
		}
	}
}

// queueStands reports whether more requests wait than there are replicas, and their number has not
// fallen for at least long.
func queueStands(sized []sizing, load load, snap scaling.Snapshot, past Memory, long time.Duration) bool {
	replicas := 0.0
	for _, s := range sized {
		ready, _ := s.replicas()
		replicas += ready
	}
	return load.backlog > replicas && past.Backlog.Stands(snap.At, long)
}

package saturation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// manyAtOnce is the number of mean requests that every KV cache holds where its peaks may count
	// for less. A full cache preempts a request, whose tokens are computed again: of one in sixteen
	// that is 6 % of the work. Where caches hold few requests, replicas with full ones may serve half of
	// what they could, and do not recover.
	manyAtOnce = 16
	// requestsDiffer is the deviation of the tokens that one running request holds, as a part of
	// their mean, the Poisson distribution of their number included: lengths of answers are
	// distributed as widely as exponentially, and a request is seen at any point of its answer.
	requestsDiffer = 1.3
)

// Eased returns a Snapshot in which the KV caches of a model are filled by times less at their
// peaks in the window, times >= 1, and says so in words, "" for the same Snapshot. A peak fills a
// cache for seconds; where more requests meet their objectives than are asked for, it need not fit
// in. The caches are not emptier than by Little's law, and not emptier by more than chance than at
// the last scrape, so that a burst counts at once.
func Eased(snap scaling.Snapshot, p TokenThresholds, interval time.Duration, times float64) (eased scaling.Snapshot, why string) {
	m := meter{snap: snap, policy: p, interval: interval, variants: scaling.ByKey(snap.Variants), samples: snap.Sorted()}
	resident, known := m.resident()
	if !(times > 1) || !known || snap.Young() || !m.holdMany() {
		return snap, ""
	}
	peaks, now, running := 0.0, 0.0, 0.0
	for _, s := range m.samples {
		kv, _, _ := latest(s)
		peaks += m.held(s)
		now += min(1, kv.Or(0)) * size(s)
		running += s.Running.Or(0)
	}
	now *= max(0, 1-requestsDiffer/math.Sqrt(max(1, running)))
	counts := max(1/times, resident/peaks, now/peaks)
	if !(counts < 1) {
		return snap, ""
	}
	snap.Replicas = slices.Clone(snap.Replicas)
	for i := range snap.Replicas {
		snap.Replicas[i].KVCacheUsage.Value *= counts
	}
	return snap, fmt.Sprintf("; peaks of the KV caches count for %.0f %%, since more requests meet the objectives than are asked for", 100*counts)
}

// holdMany reports whether every replica that reports the size of its cache holds many requests.
func (m meter) holdMany() bool {
	request := m.snap.Load.InputTokens.Or(0) + m.snap.Load.OutputTokens.Or(0)/2
	return request > 0 && !slices.ContainsFunc(m.samples, func(s scaling.ReplicaSample) bool {
		return s.KVCapacity.Known() && size(s) < manyAtOnce*request
	})
}

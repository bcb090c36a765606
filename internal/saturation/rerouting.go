package saturation

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// queues are the requests that wait in the replicas of a model.
type queues struct {
	snap    scaling.Snapshot
	samples []scaling.ReplicaSample // sorted by variant, pod
	tooLong float64                 // a queue above it is too long, requests
	fill    float64                 // the part of a full replica at which growth begins, a ratio
}

// Relieved returns the analysis by Tokens of snap with a ceiling for each variant of which every
// replica has a lasting queue, while others have none; interval is the time until the next cycle. It
// is for where no other analysis tells how requests are shared by variant.
func Relieved(a scaling.Analysis, snap scaling.Snapshot, p TokenThresholds, interval time.Duration) scaling.Analysis {
	if a.Signal == scaling.Unknown {
		return a
	}
	q := queues{snap, snap.Sorted(), p.QueueLengthThreshold - 1, p.ScaleUpThreshold} // a queue is a whole number
	relief := q.relief(q.drowning(), interval)
	if len(relief) > 0 {
		a.Signal, a.Reason = scaling.Grow, scaling.ReasonSaturated
	}
	for _, c := range relief {
		a.Detail += fmt.Sprintf("; %s: %.3g %s are needed", c.Name, c.Demand, c.Unit)
	}
	a.Ceilings = append(a.Ceilings, relief...)
	return a
}

// last reports whether the queue of a replica lasts: it was too long both at the last scrape and in
// the window.
func (q queues) last(s scaling.ReplicaSample) bool {
	_, queue, ok := latest(s)
	return ok && min(queue.Or(0), s.QueueLength.Or(0)) > q.tooLong
}

// room returns the variants with a replica that has no lasting queue, or of which none reports:
// requests that wait in other replicas of the same variant are a matter of routing.
func (q queues) room() map[scaling.VariantKey]bool {
	room, reports := map[scaling.VariantKey]bool{}, map[scaling.VariantKey]bool{}
	for _, s := range q.samples {
		if s.Reports() {
			reports[s.Variant] = true
			if !q.last(s) {
				room[s.Variant] = true
			}
		}
	}
	for _, s := range q.samples {
		if !reports[s.Variant] {
			room[s.Variant] = true
		}
	}
	return room
}

// drowning returns the variants, sorted, that can grow and have a lasting queue in every replica,
// while other variants have room: the gateway does not share requests by room, but perhaps by
// variant, so that more replicas of the others would not help.
func (q queues) drowning() (out []scaling.VariantKey) {
	room := q.room()
	for _, v := range scaling.ByKey(q.snap.Variants) {
		serves := slices.ContainsFunc(q.samples, func(s scaling.ReplicaSample) bool { return s.Variant == v.Key && s.Reports() })
		if serves && !room[v.Key] && len(room) > 0 && !v.Paused && v.Bounds.Max > v.Replicas.Current {
			out = append(out, v.Key)
		}
	}
	return out
}

// takes returns how long a request is computed, in s, 0 where that is unknown.
func (q queues) takes() float64 { return q.snap.Load.OutputTokens.Or(0) * q.snap.Load.ITL.Or(0) / 1000 }

// queued sums up the replicas of one variant.
type queued struct{ running, waiting, report, ready float64 }

// byVariant returns the sums of each variant.
func (q queues) byVariant() map[scaling.VariantKey]queued {
	sums := map[scaling.VariantKey]queued{}
	for _, s := range q.samples {
		v := sums[s.Variant]
		if s.Ready || s.Reports() {
			v.ready++
		}
		if s.Reports() {
			v.running, v.waiting, v.report = v.running+s.Running.Or(0), v.waiting+s.Waiting().Or(0), v.report+1
		}
		sums[s.Variant] = v
	}
	return sums
}

// relief returns a ceiling for each drowning variant: what it completes now, its part of the arrivals
// that nothing completes, and what clears its queues; at most twice what it completes, since after
// that the readings show more. Silent replicas count as the others of their variant.
func (q queues) relief(drowning []scaling.VariantKey, interval time.Duration) (out []scaling.Ceiling) {
	takes, sums := q.takes(), q.byVariant()
	running, waits := 0.0, 0.0
	for _, v := range scaling.ByKey(q.snap.Variants) {
		running += sums[v.Key].running
		if slices.Contains(drowning, v.Key) {
			waits += sums[v.Key].waiting
		}
	}
	for _, key := range drowning {
		v := sums[key]
		c := scaling.Ceiling{Name: "queue of " + key.Name, Unit: scaling.UnitReplicas, Demand: v.ready + 1}
		one := 1.0
		if takes > 0 && v.running >= 1 {
			one, c.Unit = v.running/takes/v.report, scaling.UnitRequestRate
			completed := v.running / takes
			excess := max(0, q.snap.Load.ArrivalRate.Or(0)-running/takes) * v.waiting / max(1, waits)
			clears := memory.Queue{Waiting: v.waiting, Arrive: completed + excess, Served: completed, Fill: q.fill, Lead: memory.Lead(q.snap.Variants, interval)}.Rate()
			c.Demand = max(completed*v.ready/v.report+one, min(clears, 2*completed)*v.ready/v.report)
		}
		for _, v := range scaling.ByKey(q.snap.Variants) {
			l := scaling.Limit{Variant: v.Key}
			if v.Key == key {
				l.PerReplica = one
			}
			c.Variants = append(c.Variants, l)
		}
		out = append(out, c)
	}
	return out
}

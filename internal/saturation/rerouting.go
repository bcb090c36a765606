package saturation

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// room returns the variants with a replica that has no lasting queue, or does not report: requests
// that wait in other replicas of the same variant are a matter of routing.
func (g gauge) room() map[scaling.VariantKey]bool {
	room := map[scaling.VariantKey]bool{}
	for _, s := range g.samples {
		if _, _, stands := g.queued(s); !stands {
			room[s.Variant] = true
		}
	}
	return room
}

// drowning returns the variants, sorted, that can grow and have a lasting queue in every replica,
// while other variants have room: the gateway does not share requests by room, but perhaps by
// variant, so that more replicas of the others would not help.
func (g gauge) drowning() (out []scaling.VariantKey) {
	room := g.room()
	for _, v := range scaling.ByKey(g.snap.Variants) {
		serves := slices.ContainsFunc(g.samples, func(s scaling.ReplicaSample) bool { return s.Variant == v.Key && s.Reports() })
		if serves && !room[v.Key] && len(room) > 0 && !v.Paused && v.Bounds.Max > v.Replicas.Current {
			out = append(out, v.Key)
		}
	}
	return out
}

// relief returns a ceiling for each drowning variant: what it completes now and what clears its
// queues.
func (g gauge) relief(drowning []scaling.VariantKey, interval time.Duration) (out []scaling.Ceiling) {
	takes := g.takes()
	for _, key := range drowning {
		running, waiting, replicas := 0.0, 0.0, 0.0
		for _, s := range g.samples {
			if s.Variant == key && s.Reports() {
				running, waiting, replicas = running+s.Running.Or(0), waiting+s.Waiting().Or(0), replicas+1
			}
		}
		c := scaling.Ceiling{Name: "queue of " + key.Name, Unit: scaling.UnitReplicas, Demand: replicas + 1}
		one := 1.0
		if takes > 0 && running >= 1 {
			one, c.Unit = running/takes/replicas, scaling.UnitRequestRate
			c.Demand = max((replicas+1)*one, memory.Queue{
				Waiting: waiting, Arrive: one * replicas, Served: one * replicas, Fill: g.fill(), Lead: memory.Lead(g.snap.Variants, interval),
			}.Rate())
		}
		for _, v := range scaling.ByKey(g.snap.Variants) {
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

package saturation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TokensName is the name of the token capacity analyzer in an Analysis.
const TokensName = "tokens"

// TokenView is the token capacity analysis of one model, and what to remember of its variants for
// the next analysis.
type TokenView struct {
	Analysis scaling.Analysis
	Capacity map[scaling.VariantKey]memory.TokenCapacity
}

// Tokens says how many tokens the requests of a model need in KV caches, and how many a replica of
// each variant holds. past is what was remembered of the variants, interval the time until the next
// cycle. The Signal is Unknown where no replica reports the size and the usage of its cache.
func Tokens(snap scaling.Snapshot, p TokenThresholds, past memory.History, interval time.Duration) TokenView {
	m := meter{snap: snap, policy: p, interval: interval, variants: scaling.ByKey(snap.Variants), samples: snap.Sorted()}
	view := TokenView{Capacity: map[scaling.VariantKey]memory.TokenCapacity{}}
	capacities := m.capacities(past, view.Capacity)
	view.Analysis = m.analyze(capacities)
	return view
}

// meter computes tokens from one Snapshot.
type meter struct {
	snap     scaling.Snapshot
	policy   TokenThresholds
	interval time.Duration
	variants []scaling.Variant       // sorted by key
	samples  []scaling.ReplicaSample // sorted by variant, pod
}

func (m meter) analyze(capacities []scaling.Capacity) scaling.Analysis {
	p := m.policy
	a := scaling.Analysis{Model: m.snap.Model, Analyzer: TokensName, Unit: scaling.UnitTokens, Reason: scaling.ReasonNoData}
	measured := slices.ContainsFunc(m.samples, func(s scaling.ReplicaSample) bool { return s.KVCacheUsage.Known() && size(s) > 0 })
	if !measured {
		a.Detail = "no replica reports its KV cache usage and the size of its KV cache"
		if why := silence(m.snap, scaling.Replicas(len(m.samples))); m.snap.Fault != "" || len(m.samples) == 0 {
			a.Detail = why
		}
		return a
	}
	need := m.demand(capacities)
	capacities = m.fastHoldMore(capacities)
	a.Demand, a.FromReplicas, a.Fill = need/p.ScaleUpThreshold, true, p.ScaleDownBoundary/p.ScaleUpThreshold
	used := map[scaling.VariantKey]float64{}
	for _, s := range m.samples {
		used[s.Variant] += m.held(s)
	}
	for i, v := range m.variants {
		per := capacities[i].PerReplica
		supply := per * float64(v.Replicas.Ready)
		a.Supply += supply
		a.Anticipated += per * float64(v.Replicas.Current)
		if supply > 0 {
			capacities[i].Utilization = used[v.Key] / supply
		}
	}
	a.Variants = capacities
	a.Ceilings = m.ceilings()
	full := a.Demand + m.unseen(capacities)
	a.Signal, a.Reason, a.Detail = m.direction(a, need, full)
	if a.Signal == scaling.Shrink {
		a.Demand = full
		if pods := doubtful(m.samples); len(pods) > 0 {
			a.Detail += "; " + names(pods) + ", without fresh readings, count as full"
		}
	}
	a.Detail += stuck(m.snap, m.samples)
	return a
}

// unseen returns by how many tokens the demand is larger if every unsure replica is full.
func (m meter) unseen(capacities []scaling.Capacity) float64 {
	per, tokens := map[scaling.VariantKey]float64{}, 0.0
	for _, c := range capacities {
		per[c.Variant] = c.PerReplica
	}
	for _, s := range m.samples {
		if unsure(s) {
			tokens += max(0, per[s.Variant]-m.held(s)/m.policy.ScaleUpThreshold)
		}
	}
	return tokens
}

// direction compares the demand with the supply and the anticipated supply. full is the demand if
// every unsure replica is full.
func (m meter) direction(a scaling.Analysis, need, full float64) (scaling.Signal, scaling.Reason, string) {
	detail := fmt.Sprintf("%.0f tokens of KV cache are needed; the Ready replicas have %.0f%s, of which %.0f %% may be used",
		need, a.Supply, a.OnTheWay("%.0f"), 100*m.policy.ScaleUpThreshold)
	switch {
	case a.Demand > a.Anticipated:
		return scaling.Grow, scaling.ReasonSaturated, detail
	case a.Demand >= a.Supply:
		return scaling.Steady, scaling.ReasonSteady, detail
	}
	if full >= a.Supply {
		return scaling.Steady, scaling.ReasonSteady, detail + "; not reduced: " + countedAsFull(doubtful(m.samples))
	}
	return scaling.Shrink, scaling.ReasonSpareCapacity, detail
}

// demand returns the number of tokens that the requests need.
//
// A waiting request counts with its input tokens, as published, and at the gateway with its output
// tokens too. The length of a queue shows for how long replicas were too few, not how many are
// missing. So it counts only as far as arrivals bear it out, by Little's law
//
//	resident = rate x output tokens x ITL x (input + output / 2)
//
// and for one replica more. The rate is that of arrivals, or the one that works the backlog off
// (memory.Queue). Where arrivals are unknown, it counts for at most what the Ready replicas hold
// at ScaleUpThreshold.
func (m meter) demand(capacities []scaling.Capacity) float64 {
	held, waiting, largest, supply := 0.0, m.gateway(), 0.0, 0.0
	for _, s := range m.samples {
		held += m.held(s)
		_, queue, _ := m.read(s)
		waiting += queue.Or(0) * math.Floor(m.snap.Load.InputTokens.Or(0))
	}
	held += m.silent()
	for i, c := range capacities {
		largest = max(largest, c.PerReplica)
		supply += c.PerReplica * float64(m.variants[i].Replicas.Ready)
	}
	if resident, known := m.resident(); known {
		return held + min(waiting, max(0, resident-held)+m.policy.ScaleUpThreshold*largest)
	}
	return held + min(waiting, m.policy.ScaleUpThreshold*supply)
}

// silent returns the tokens assumed in Ready replicas that report no KV cache usage, while more
// requests wait than there are replicas: the mean of the others of their variant. It returns 0
// without such a queue, and while a replica is new.
func (m meter) silent() float64 {
	waiting := m.snap.Load.GatewayQueue.Or(0)
	type sum struct{ held, report, silent float64 }
	of := map[scaling.VariantKey]sum{}
	for _, s := range m.samples {
		waiting += s.Waiting().Or(0)
		v := of[s.Variant]
		switch {
		case s.KVCacheUsage.Known():
			v.held, v.report = v.held+m.held(s), v.report+1
		case s.Ready:
			v.silent++
		}
		of[s.Variant] = v
	}
	if waiting <= float64(len(m.samples)) || m.snap.Young() {
		return 0
	}
	tokens := 0.0
	for _, v := range m.variants {
		if s := of[v.Key]; s.report > 0 {
			tokens += s.silent * s.held / s.report
		}
	}
	return tokens
}

// resident returns the tokens in KV caches while replicas keep up with the rate; false where that
// is unknown.
func (m meter) resident() (float64, bool) {
	running, ok := m.running(m.rate())
	l := m.snap.Load
	return running * (l.InputTokens.Or(0) + l.OutputTokens.Or(0)/2), ok
}

// rate returns the requests/s to size replicas for: the arrival rate, or the rate that works the
// backlog off where the completion rate is known.
func (m meter) rate() float64 {
	l := m.snap.Load
	running, waiting, ready, ordered := 0.0, l.GatewayQueue.Or(0), scaling.Replicas(0), scaling.Replicas(0)
	for _, s := range m.samples {
		running += s.Running.Or(0)
		waiting += s.Waiting().Or(0)
	}
	for _, v := range m.variants {
		ready += v.Replicas.Ready
		ordered += max(v.Replicas.Ready, v.Replicas.Current)
	}
	takes := l.OutputTokens.Or(0) * l.ITL.Or(0) / 1000
	if running < 1 || takes <= 0 || ready == 0 {
		return l.ArrivalRate.Or(0)
	}
	return memory.Queue{
		Waiting: waiting, Arrive: l.ArrivalRate.Or(0), Served: running / takes * float64(ordered) / float64(ready),
		Fill: m.policy.ScaleUpThreshold, Lead: memory.Lead(m.variants, m.interval),
	}.Rate()
}

// running returns the number of requests computed together while replicas keep up with so many
// requests/s, by Little's law; false where that is unknown.
func (m meter) running(rate float64) (float64, bool) {
	l := m.snap.Load
	if !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known() || !l.ITL.Known() {
		return 0, false
	}
	return rate * l.OutputTokens.Value * l.ITL.Value / 1000, true
}

// gateway returns the tokens that the requests in the gateway queue will need.
func (m meter) gateway() float64 {
	l := m.snap.Load
	return l.GatewayQueue.Or(0) * (l.InputTokens.Or(0)*(1-min(1, l.PrefixHits.Or(0))) + l.OutputTokens.Or(0))
}

// held returns the number of tokens in the KV cache of a replica.
func (m meter) held(s scaling.ReplicaSample) float64 {
	usage, _, _ := m.read(s)
	return math.Round(min(1, usage.Or(0)) * size(s))
}

// read returns the peak of a replica in the window, or its load at the last scrape where a replica
// became Ready within the window, since earlier peaks are of a smaller fleet.
func (m meter) read(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
	if m.snap.Young() {
		return latest(s)
	}
	return peak(s)
}

// size returns the size of the KV cache of a replica in tokens, 0 where it is unknown.
func size(s scaling.ReplicaSample) float64 { return s.KVCapacity.Or(0) }

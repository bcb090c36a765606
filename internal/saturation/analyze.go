package saturation

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Name is the name of the analyzer of spare capacity in an Analysis.
const Name = "saturation"

// Analyze returns as demand how many replicas the load of snap fills up to the point at which
// growth begins. It grows a model where the published rule does, and where that overlooks saturated
// replicas. interval is the time until the next cycle. The Signal is Unknown when no replica
// reports.
func Analyze(snap scaling.Snapshot, p Thresholds, interval time.Duration) scaling.Analysis {
	a := Published(snap, p)
	a.FromReplicas = true
	if a.Signal == scaling.Unknown {
		return a
	}
	g := newGauge(snap, p)
	a.Variants = g.fastCarryMore(a.Variants)
	drowning := g.queues().drowning()
	need, why := g.need(drowning)
	keep := max(g.sum(1, true), g.fullest(certain))
	for i, c := range a.Variants {
		a.Variants[i].Utilization = g.mean(c.Variant)
	}
	a.Ceilings = append(g.overload(interval), g.queues().relief(drowning, interval)...)
	grows := a.Signal == scaling.Grow || (need > a.Anticipated || len(drowning) > 0) && doubtGrowth(snap, g.samples, p) == ""
	switch {
	case grows && g.passed():
		a.Signal, a.Reason, a.Demand = scaling.Steady, scaling.ReasonSteady, a.Supply
		a.Detail += fmt.Sprintf("; not grown: at the last scrape no replica is as full as %.0f %% of where growth begins", 100*over)
	case grows:
		a.Demand = need
		if len(drowning) == 0 {
			// The published rule asks for at least one more than the supply.
			a.Demand = max(need, a.Supply*(1+least))
		}
		if a.Signal != scaling.Grow {
			a.Signal, a.Reason = scaling.Grow, scaling.ReasonSaturated
		}
		a.Detail = fmt.Sprintf("%s; the load fills %.3g replicas%s", a.Detail, a.Demand, why)
		for _, c := range a.Ceilings {
			a.Detail += fmt.Sprintf("; %s: %.3g %s are needed", c.Name, c.Demand, c.Unit)
		}
	case a.Signal == scaling.Shrink && keep < a.Supply:
		a.Demand = keep
		a.Variants = g.measured(a.Variants)
	case a.Signal == scaling.Shrink:
		a.Signal, a.Reason, a.Demand = scaling.Steady, scaling.ReasonSteady, a.Supply
		a.Detail += "; not reduced: the fullest variant leaves no room"
	default:
		a.Demand, a.Variants = g.steady(a, need, keep)
	}
	return a
}

// steady returns the demand and the capacities of a model that neither grows nor shrinks. Where all
// replicas are sure, these let it move to cheaper variants.
func (g gauge) steady(a scaling.Analysis, need, keep float64) (float64, []scaling.Capacity) {
	if len(doubtful(g.samples)) > 0 {
		return min(need, a.Supply), a.Variants
	}
	return min(max(need, keep), a.Supply), g.measured(a.Variants)
}

// least is a demand so small that one replica of any size carries it.
const least = 1e-6

// gauge measures how full the replicas of a model are.
type gauge struct {
	snap    scaling.Snapshot
	policy  Thresholds
	samples []scaling.ReplicaSample // sorted by variant, pod
	weights map[scaling.VariantKey]weight
	read    func(scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool)
}

func newGauge(snap scaling.Snapshot, p Thresholds) gauge {
	samples := snap.Sorted()
	g := gauge{snap: snap, policy: p, samples: samples, weights: weigh(snap.Variants, samples), read: peak}
	if snap.Young() {
		g.read = latest
	}
	return g
}

// load returns how full a replica is, relative to the load at which growth begins. A queue says
// that a replica is full, and not by how much its load is too large: its length depends on how long
// requests have waited. So it counts for at most as much as a full KV cache.
func (g gauge) load(kv, queue scaling.Reading) float64 {
	p := g.policy
	atMost := ratio(p.KVCacheThreshold, p.KVCacheThreshold-p.KVSpareTrigger)
	return max(ratio(kv.Or(0), p.KVCacheThreshold-p.KVSpareTrigger), min(atMost, ratio(queue.Or(0), p.QueueLengthThreshold-p.QueueSpareTrigger)))
}

func (g gauge) queues() queues {
	return queues{g.snap, g.samples, g.policy.QueueLengthThreshold - g.policy.QueueSpareTrigger, g.fill()}
}

// sum returns the sum of load x weight of the replicas. The load of an unsure replica is at least
// unsureAt; peaks says to use the peaks of the window.
func (g gauge) sum(unsureAt float64, peaks bool) float64 {
	read, total := g.read, 0.0
	if peaks {
		read = peak
	}
	for _, s := range g.samples {
		kv, queue, _ := read(s)
		load := g.load(kv, queue)
		if unsure(s) {
			load = max(load, unsureAt)
		}
		total += load * g.weights[s.Variant].perReplica
	}
	return total
}

// over is the part of the load at which growth begins below which a peak has passed: noise of a
// quarter does not bring it back.
const over = 0.8

// passed reports whether the load that filled the replicas in the window is over: at the last
// scrape the load of each is below over, and no request waits at the gateway. The peaks of a window
// still show a load or a backlog after it has ended. It is false where the last scrape alone calls
// for growth, and while a replica is unsure.
func (g gauge) passed() bool {
	if short, _ := measure(loads(g.samples, latest), g.policy).short(g.policy); short {
		return false
	}
	return g.snap.Load.GatewayQueue.Or(0) == 0 && !slices.ContainsFunc(g.samples, func(s scaling.ReplicaSample) bool {
		kv, queue, ok := latest(s)
		return !ok || unsure(s) || g.load(kv, queue) >= over
	})
}

// mean returns the mean load of the replicas of a variant, 0 where none reports.
func (g gauge) mean(v scaling.VariantKey) float64 {
	sum, replicas := 0.0, 0.0
	for _, s := range g.samples {
		if kv, queue, ok := g.read(s); ok && s.Variant == v {
			sum += g.load(kv, queue)
			replicas++
		}
	}
	return sum / max(1, replicas)
}

// fullest returns how many replicas the load fills if it stays shared as now: all count as full as
// those of the fullest variant. It ignores replicas for which read returns false.
func (g gauge) fullest(read func(scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool)) float64 {
	type sum struct{ load, replicas float64 }
	sums, supply, most := map[scaling.VariantKey]sum{}, 0.0, 0.0
	for _, s := range g.samples {
		supply += g.weights[s.Variant].perReplica
		if kv, queue, ok := read(s); ok {
			v := sums[s.Variant]
			sums[s.Variant] = sum{v.load + g.load(kv, queue), v.replicas + 1}
		}
	}
	for _, v := range sums {
		most = max(most, v.load/v.replicas)
	}
	return supply * most
}

// need returns how many replicas the load fills, and in words what that includes beyond their own
// load. A lasting queue in variants that can grow is left to relief.
func (g gauge) need(drowning []scaling.VariantKey) (replicas float64, why string) {
	replicas = g.sum(0, false)
	if len(drowning) > 0 {
		return replicas, ""
	}
	room := g.queues().room()
	stands := g.fullest(func(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
		kv, queue, ok = latest(s)
		return kv, queue, ok && g.queues().last(s) && !room[s.Variant]
	})
	if stands > replicas && !g.idles(room) {
		return stands, ", shared out as it is now"
	}
	return replicas, ""
}

// idle is the largest KV cache usage of idle replicas, as a part of that of full ones beside them.
// Replicas that get as many requests hold more than that even where they are many times as fast.
const idle = 0.05

// idles reports whether the replicas of the variants with room have almost no load, unlike those
// with a lasting queue: requests are shared by variant, so that more replicas would not help the
// full ones.
func (g gauge) idles(room map[scaling.VariantKey]bool) bool {
	var usage, replicas [2]float64 // without and with room
	for _, s := range g.samples {
		if kv, _, ok := latest(s); ok {
			i := 0
			if room[s.Variant] {
				i = 1
			}
			usage[i] += kv.Or(0)
			replicas[i]++
		}
	}
	return usage[1]/max(1, replicas[1]) < idle*usage[0]/max(1, replicas[0])
}

// fill returns the part of a full replica at which growth begins.
func (g gauge) fill() float64 {
	return 1 / max(1, ratio(g.policy.KVCacheThreshold, g.policy.KVCacheThreshold-g.policy.KVSpareTrigger))
}

// completed returns the requests/s that the replicas complete, 0 where that is unknown, by Little's
// law:
//
//	completed = running / (output tokens x ITL)
func (g gauge) completed() float64 {
	running := 0.0
	for _, s := range g.samples {
		if s.Reports() && !s.Running.Known() {
			return 0
		}
		running += s.Running.Or(0)
	}
	takes := g.queues().takes()
	if running < 1 || takes <= 0 {
		return 0
	}
	return running / takes
}

// overload returns a ceiling of arrivals and backlog by what a replica completes, while the
// replicas that serve are full in the mean and more requests wait than there are replicas: then
// their load does not tell how many are missing. Replicas that are not Ready get no requests, and
// silent ones are unknown: neither kind excuses the others. Where some replicas idle, what they
// complete is not what full ones do: there is no ceiling, nor where the rates are unknown.
func (g gauge) overload(interval time.Duration) []scaling.Ceiling {
	waiting, supply, filled, ordered := g.snap.Load.GatewayQueue.Or(0), 0.0, 0.0, 0.0
	for _, s := range g.samples {
		if s.Ready && s.Reports() {
			w := g.weights[s.Variant].perReplica
			kv, queue, _ := g.read(s)
			waiting += s.Waiting().Or(0)
			supply += w
			filled += g.load(kv, queue) * w
		}
	}
	variants := scaling.ByKey(g.snap.Variants)
	for _, v := range variants {
		ordered += g.weights[v.Key].perReplica * float64(max(v.Replicas.Current, v.Replicas.Ready))
	}
	completed := g.completed()
	if !g.snap.Load.ArrivalRate.Known() || completed <= 0 || filled < supply || waiting <= float64(len(g.samples)) {
		return nil
	}
	fill := g.fill()
	c := scaling.Ceiling{Name: "overload", Unit: scaling.UnitRequestRate, Demand: memory.Queue{
		Waiting: waiting, Arrive: g.snap.Load.ArrivalRate.Value, Served: completed * max(1, ordered/supply), Fill: fill,
		Lead: memory.Lead(g.snap.Variants, interval),
	}.Rate()}
	for i, weight := range g.inProportion(variants, func(i int) float64 { return g.weights[variants[i].Key].perReplica }) {
		c.Variants = append(c.Variants, scaling.Limit{Variant: variants[i].Key, PerReplica: fill * completed / supply * weight})
	}
	return []scaling.Ceiling{c}
}

// fastCarryMore scales the capacities in proportion to what replicas complete at the load at which
// growth begins.
func (g gauge) fastCarryMore(capacities []scaling.Capacity) []scaling.Capacity {
	variants := scaling.ByKey(g.snap.Variants)
	out := slices.Clone(capacities)
	for i, weight := range g.inProportion(variants, func(i int) float64 { return capacities[i].PerReplica }) {
		if weight != out[i].PerReplica {
			out[i].PerReplica = weight
			out[i].Source += ", in proportion to what a replica completes"
		}
	}
	return out
}

// inProportion scales what replicas of the variants carry in proportion to what they complete at
// the load at which growth begins.
func (g gauge) inProportion(variants []scaling.Variant, carries func(int) float64) []float64 {
	sizes := map[scaling.VariantKey]float64{}
	for _, s := range g.samples {
		sizes[s.Variant] = max(sizes[s.Variant], size(s))
	}
	holds, rates := make([]float64, len(variants)), make([]float64, len(variants))
	for i, v := range variants {
		holds[i] = carries(i)
		rates[i] = completes(v, g.snap.Load, (g.policy.KVCacheThreshold-g.policy.KVSpareTrigger)*sizes[v.Key])
	}
	return inProportion(variants, g.samples, holds, rates)
}

// measured returns the capacities with 0 for variants without a replica that reports: their
// capacity is a guess, good enough to start one replica where more are needed, and not to move a
// fleet to them.
func (g gauge) measured(capacities []scaling.Capacity) []scaling.Capacity {
	reports := map[scaling.VariantKey]bool{}
	for _, s := range g.samples {
		reports[s.Variant] = reports[s.Variant] || s.Reports()
	}
	for i, c := range capacities {
		if !reports[c.Variant] {
			capacities[i].PerReplica = 0
		}
	}
	return capacities
}

package saturation

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Name is the name of the analyzer of spare capacity in an Analysis.
const Name = "saturation"

// Analyze says how many replicas the load of snap fills up to the point at which
// growth begins, beside how many there are. It grows a model where the published
// rule does, and where that overlooks replicas that are saturated. interval is the
// time until the next cycle. The Signal is Unknown when no replica reports.
func Analyze(snap scaling.Snapshot, p Thresholds, interval time.Duration) scaling.Analysis {
	a := Published(snap, p)
	a.FromReplicas = true
	if a.Signal == scaling.Unknown {
		return a
	}
	g := newGauge(snap, p)
	a.Variants = g.fastCarryMore(a.Variants)
	drowning := g.drowning()
	need, why := g.need(drowning)
	keep := max(g.sum(1, true), g.fullest(certain))
	for i, c := range a.Variants {
		a.Variants[i].Utilization = g.mean(c.Variant)
	}
	a.Ceilings = append(g.overload(interval), g.relief(drowning, interval)...)
	grows := a.Signal == scaling.Grow || (need > a.Anticipated || len(drowning) > 0) && doubtGrowth(snap, g.samples, p) == ""
	switch {
	case grows && g.passed():
		a.Signal, a.Reason, a.Demand = scaling.Steady, scaling.ReasonSteady, a.Supply
		a.Detail += fmt.Sprintf("; not grown: at the last scrape no replica is as full as %.0f %% of where growth begins", 100*over)
	case grows:
		a.Demand = need
		if len(drowning) == 0 {
			// One more than what serves is the least that the published rule asks for.
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

// steady returns the demand and the capacities of a model that neither grows nor
// shrinks: where all replicas are sure, those by which it may move to cheaper variants.
func (g gauge) steady(a scaling.Analysis, need, keep float64) (float64, []scaling.Capacity) {
	if len(doubtful(g.samples)) > 0 {
		return min(need, a.Supply), a.Variants
	}
	return min(max(need, keep), a.Supply), g.measured(a.Variants)
}

// least is so little that one replica of any size carries it.
const least = 1e-6

// gauge reads off how full the replicas of a model are.
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
	if younger(snap) {
		g.read = latest
	}
	return g
}

// load is how full a replica is, in parts of the load at which growth begins. A
// queue says that a replica is full, and not by how much its load is too large:
// that is a matter of how long requests have waited. So it counts for as much as a
// full KV cache at most.
func (g gauge) load(kv, queue scaling.Reading) float64 {
	p := g.policy
	atMost := ratio(p.KVCacheThreshold, p.KVCacheThreshold-p.KVSpareTrigger)
	return max(ratio(kv.Or(0), p.KVCacheThreshold-p.KVSpareTrigger), min(atMost, ratio(queue.Or(0), p.QueueLengthThreshold-p.QueueSpareTrigger)))
}

// sum adds up how full the replicas are, each by its weight. One that is unsure has
// at least the given load; peaks says to read those over the window.
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

// over is the part of the load at which growth begins below which a peak is over: noise
// of a quarter does not bring it back.
const over = 0.8

// passed says that what filled the replicas in the window is over: each reports at
// the last scrape less than the part over of the load at which growth begins, and
// nothing waits at the gateway. The greatest values of a window still tell of a peak or a
// backlog after both are gone. Where growth would begin at the last scrape too, nothing is.
func (g gauge) passed() bool {
	if short, _ := measure(loads(g.samples, latest), g.policy).short(g.policy); short {
		return false
	}
	return g.snap.Load.GatewayQueue.Or(0) == 0 && !slices.ContainsFunc(g.samples, func(s scaling.ReplicaSample) bool {
		kv, queue, ok := latest(s)
		return !ok || unsure(s) || g.load(kv, queue) >= over
	})
}

// mean is how full the replicas of a variant are, 0 where none reports.
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

// fullest is how many replicas the load fills if it is shared out as it is now:
// then all are full as soon as those of one variant are. Replicas for which read
// does not answer say nothing.
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

// queued reads the load of a replica whose queue stands: it is too long at the last
// scrape, and was over the window.
func (g gauge) queued(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
	kv, queue, ok = latest(s)
	trigger := g.policy.QueueLengthThreshold - g.policy.QueueSpareTrigger
	return kv, queue, ok && min(queue.Or(0), s.QueueLength.Or(0)) > trigger
}

// need is how many replicas the load fills, and in words what that takes into
// account beyond what they show. A queue that stands in variants that can grow is
// relieved by more of those.
func (g gauge) need(drowning []scaling.VariantKey) (replicas float64, why string) {
	replicas = g.sum(0, false)
	if len(drowning) > 0 {
		return replicas, ""
	}
	room := g.room()
	stands := g.fullest(func(s scaling.ReplicaSample) (kv, queue scaling.Reading, ok bool) {
		kv, queue, ok = g.queued(s)
		return kv, queue, ok && !room[s.Variant]
	})
	if stands > replicas && !g.idles(room) {
		return stands, ", shared out as it is now"
	}
	return replicas, ""
}

// idle is the part of the KV cache usage of full replicas up to which others do
// nothing beside them. Of the requests that slow replicas are full with, even ones that
// are many times as fast hold more if they get as many.
const idle = 0.05

// idles reports whether the replicas of the variants with room have nothing to do
// beside those in which a queue stands: requests are shared out by variant, so that
// more of them take nothing off the full ones.
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

// takes is how long a request is computed in s, 0 where that is not known.
func (g gauge) takes() float64 { return g.snap.Load.OutputTokens.Or(0) * g.snap.Load.ITL.Or(0) / 1000 }

// fill is the part of a full replica at which growth begins.
func (g gauge) fill() float64 {
	return 1 / max(1, ratio(g.policy.KVCacheThreshold, g.policy.KVCacheThreshold-g.policy.KVSpareTrigger))
}

// completed is how many requests/s the replicas complete, 0 where that is not known:
// what they compute together over how long one takes, by Little's law,
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
	takes := g.takes()
	if running < 1 || takes <= 0 {
		return 0
	}
	return running / takes
}

// overload is what arrives and waits beside what a replica completes, while the
// replicas that serve are full and requests wait: how full they are tells nothing of how
// many are missing then. Those that are not Ready get no requests, and of silent ones
// nothing is known: neither excuses the others. Where requests are shared out so that
// some replicas idle, what they complete is not what full ones do. There is none where
// it is not known.
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
	c := scaling.Ceiling{Name: "overload", Unit: scaling.UnitRequestRate, Demand: scaling.Queue{
		Waiting: waiting, Arrive: g.snap.Load.ArrivalRate.Value, Served: completed * max(1, ordered/supply), Fill: fill,
		Lead: scaling.Lead(g.snap.Variants, interval),
	}.Rate()}
	for i, weight := range g.inProportion(variants, func(i int) float64 { return g.weights[variants[i].Key].perReplica }) {
		c.Variants = append(c.Variants, scaling.Limit{Variant: variants[i].Key, PerReplica: fill * completed / supply * weight})
	}
	return []scaling.Ceiling{c}
}

// fastCarryMore returns the capacities in proportion to what replicas complete at the
// point at which growth begins.
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

// inProportion is what replicas of the variants carry, in proportion to what they
// complete at the point at which growth begins.
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

// measured returns the capacities with 0 for variants of which no replica reports:
// what one of them carries is a guess, good enough to start one where more is
// needed, and too little to move a fleet to it.
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

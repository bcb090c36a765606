package soak

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// The longest time that an order counts: twice the start-up, and five minutes while that is
// unknown.
const (
	orderStartUps = 2
	orderUnknown  = 5 * time.Minute
	// orderRepeated is how long an order may wait for one that hit a bad replica.
	orderRepeated = 15 * time.Minute
)

// overload is the ratio of arrivals to completions above which the model starves.
const overload = 1.02

// hungry checks that the model does not starve while a variant can grow.
func (j *judging) hungry(t plant.Tick) {
	if t.Offered <= overload*t.Capacity || t.Waiting < 1 || !t.Known || t.Blind {
		j.hunger, j.lack = 0, 0
		return
	}
	j.hunger++
	j.lack = max(j.lack, t.Offered-t.Capacity)
	allowed := j.hungerAllowed(t)
	past := j.last(j.spans(allowed))
	if past == nil || j.hunger < len(past) {
		return
	}
	able := j.able(past)
	least, most := math.Inf(1), 0.0
	for _, m := range past {
		least, most = min(least, m.offered), max(most, m.capacity)
	}
	if able < 0 || overload*most >= least {
		return
	}
	r, wanted := Slow, past[len(past)-1].wanted
	if wanted <= past[0].wanted {
		r = Starves
	}
	j.violate(r, t, "for %s at least %.4g requests/s have arrived, the Ready replicas complete %.4g at their best, %.0f wait, and %s can grow; %d replicas were decided on then, %d are now",
		allowed, least, most, t.Waiting, j.Variants[able].Name, past[0].wanted, wanted)
}

// able returns the index of a variant that could grow in all of the past, -1 for none.
func (j *judging) able(past []moment) int {
	able := -1
	for i := range j.Variants {
		if !slices.ContainsFunc(past, func(m moment) bool { return !j.grows(i, m.variants[i]) || !j.relieves(i, m) }) {
			able = i
		}
	}
	return able
}

// relieves reports whether more replicas of a variant would help those that wait. Where each variant
// has its own part of the requests, they would not unless some wait in the variant itself.
func (j *judging) relieves(i int, m moment) bool {
	serves := slices.ContainsFunc(m.variants, func(v plant.VariantTick) bool { return v.Ready > 0 })
	return j.Spread != string(plant.Weighted) || !serves || m.variants[i].Waits >= 1
}

// hungerAllowed returns how long requests may wait while the fleet grows.
func (j *judging) hungerAllowed(t plant.Tick) time.Duration {
	lead, grace, repeated, futile := time.Duration(0), time.Duration(0), time.Duration(0), 0
	for i, v := range t.Variants {
		grace = max(grace, orderUnknown, orderStartUps*v.Lead)
		if j.grows(i, v) {
			lead = max(lead, v.Lead)
			repeated += time.Duration(failing(v)) * max(orderRepeated, orderStartUps*v.Lead)
		} else {
			futile++
		}
	}
	allowed := 2*lead + grace*time.Duration(1+futile) + repeated + j.ScaleUpStabilization + 3*j.Tick
	if j.Tolerance > 0 {
		allowed += grace // one step is within it
	}
	if step := j.MaxScaleUpStep; step > 0 {
		missing := j.lack / slices.Min(j.best)
		allowed += time.Duration(math.Ceil(missing/float64(step))) * j.Tick
	}
	if j.Engine == Spare && t.Capacity > 0 {
		// Full replicas do not show how many are missing: the fleet may double round by round.
		rounds := max(0, math.Ceil(math.Log2(t.Offered/t.Capacity)))
		allowed += time.Duration(rounds) * (lead + 2*time.Minute + j.Tick)
	}
	return allowed
}

// How much a fleet may cost beyond the cheapest mix, and for how long.
const (
	lavishPart = 1.3
	lavishFor  = 3 * time.Hour
)

// headroom returns the part by which an engine that sizes to objectives may exceed a load that changes:
// 3 % for each minute of the longest start, 30 % at most.
func (j *judging) headroom(t plant.Tick) float64 {
	if _, calm := j.calmSince(t.At); calm || j.Engine == Spare || j.Engine == Tokens {
		return 0
	}
	lead := time.Duration(0)
	for _, v := range t.Variants {
		lead = max(lead, v.Lead)
	}
	return min(0.3, 0.03*lead.Minutes())
}

// lavish checks that the fleet does not cost much more than the load needs, for long.
func (j *judging) lavish(t plant.Tick) {
	if t.Blind || !t.Known || t.Waiting >= 1 || j.uneven() {
		j.plenty, j.crowd = 0, 0
		return
	}
	j.plenty++
	replicas := scaling.Replicas(0)
	for _, v := range t.Variants {
		replicas += v.Current
	}
	j.crowd = max(j.crowd, replicas)
	allowed := lavishFor + j.slack(t)
	past := j.last(j.spans(allowed))
	if past == nil || j.plenty < len(past) {
		return
	}
	cost, need := math.Inf(1), 0.0
	for _, m := range past {
		sum := 0.0
		for i, v := range m.variants {
			sum += float64(v.Placed-min(v.Bad, v.Placed)) * j.Variants[i].Cost
		}
		cost, need = min(cost, sum), max(need, m.offered)
	}
	least, ok := cheapest(j.offers(past), need*(1+j.headroom(t)))
	if !ok {
		return
	}
	// Rounding and caution may cost one more replica of each variant.
	extra := 0.0
	for _, v := range j.Variants {
		extra += v.Cost
	}
	// A scaler ignores a reduction within its tolerance.
	if limit := (lavishPart*least + extra) / max(0, 1-j.Tolerance); cost > limit {
		j.violate(Waste, t, "for %s the fleet has cost %.4g or more an hour without what is at fault, at most %.4g requests/s have arrived, and %.4g an hour carry them (limit %.4g)",
			allowed, cost, need, least, limit)
	}
}

// The limit of an order: hoardTimes the need of the load of the last three hours and of working the
// backlog off within workOff, and hoardMore replicas of each variant.
const (
	hoardTimes = 3
	hoardMore  = 3
	workOff    = 10 * time.Minute
)

// hoarding checks that no order is far beyond the arrivals and the backlog.
func (j *judging) hoarding(t plant.Tick) {
	n := len(j.ticks)
	if n < 2 || j.ticks[n-1].wanted <= j.ticks[n-2].wanted || !ordering(t) {
		return
	}
	most := 0.0
	for _, m := range j.ticks[max(0, n-j.spans(lavishFor)):] {
		most = max(most, m.offered)
	}
	limit := hoardTimes * (most + t.Waiting/workOff.Seconds())
	if j.Spread == string(plant.Weighted) && j.uneven() {
		limit *= hoardTimes // some replicas are full before the others are
	}
	ordered, spare := 0.0, 0.0
	slowest := math.Inf(1)
	for i, v := range t.Variants {
		if v.Current > 0 {
			slowest = min(slowest, j.needs.PerReplica(j.Case, j.Variants[i]))
		}
	}
	for i, v := range t.Variants {
		one := j.Variants[i]
		per := j.needs.PerReplica(j.Case, one)
		if j.Spread == string(plant.RoundRobin) {
			per = min(per, slowest) // all get as much as the slowest
		}
		if !v.Deleted {
			ordered += float64(v.Wanted) * per
		}
		spare += float64(hoardMore+v.Bad+one.Min) * per
	}
	if ordered > limit+spare {
		j.violate(Hoards, t, "%d replicas are decided on, %d before, that carry %.4g requests/s; at most %.4g have arrived in %s and %.0f wait (limit %.4g)",
			j.ticks[n-1].wanted, j.ticks[n-2].wanted, ordered, most, lavishFor, t.Waiting, limit+spare)
	}
}

// ordering reports whether a decision on a variant is above the replicas of its target: a target
// that comes back has as many as it was created with.
func ordering(t plant.Tick) bool {
	return slices.ContainsFunc(t.Variants, func(v plant.VariantTick) bool { return v.Wanted > v.Current })
}

// uneven reports whether the spread of the requests makes the fleet need more replicas than its
// load does.
func (j *judging) uneven() bool {
	return j.Spread != string(plant.Even) && len(j.Variants) > 1
}

// failing counts the replicas of v that are bad and not Ready.
func failing(v plant.VariantTick) scaling.Replicas { return max(0, min(v.Bad, v.Current-v.Ready)) }

// grows reports whether a variant would get one more replica. It would not if the HPA's tolerance
// reaches to its bound, or if replicas fail, more than one and more than half of the Ready ones.
func (j *judging) grows(i int, v plant.VariantTick) bool {
	if n := failing(v); n > 1 && 2*n > v.Ready {
		return false // an engine does not order an image that never starts again and again
	}
	left := float64(j.most(j.Variants[i]) - v.Current)
	return v.Grows && left > j.Tolerance*float64(v.Current)
}

// slack returns how long pace may take to shrink the fleet from its largest size.
func (j *judging) slack(t plant.Tick) time.Duration {
	n, lead := j.crowd, time.Duration(0)
	for _, v := range t.Variants {
		lead = max(lead, v.Lead)
	}
	step := j.MaxScaleDownStep
	if step == 0 || j.Engine == Spare {
		step = 1
	}
	return j.reductionPeriod(lead) + 2*lead + time.Duration(math.Ceil(float64(n)/float64(step)))*(2*time.Minute+2*j.Tick) + j.moving(n, lead)
}

// moving returns how long pace may take to move n replicas to cheaper variants, one step of growth
// after the other.
func (j *judging) moving(n scaling.Replicas, lead time.Duration) time.Duration {
	if j.MaxScaleUpStep == 0 || len(j.Variants) == 1 {
		return 0
	}
	return time.Duration(math.Ceil(float64(n)/float64(j.MaxScaleUpStep))) * (j.reductionPeriod(lead) + lead + 2*time.Minute)
}

// reductionPeriod returns for how long a reduction must have been wanted at most.
func (j *judging) reductionPeriod(lead time.Duration) time.Duration {
	return max(j.ScaleDownStabilization, time.Duration(j.ScaleDownStartUps*float64(lead)))
}

// likelyPart is the ratio to the Ready replicas of a variant up to which others may fail, or would
// if they were ordered, while the fleet may still move to the variant.
const likelyPart = 0.1

// offers returns the part of each variant in a mix: within its bounds and, if it could not grow all
// the time or many of its replicas fail, at most its Ready replicas. The engine for spare capacity
// moves no replicas, and keeps one of each; the engine for tokens does not know variants that never
// ran.
func (j *judging) offers(past []moment) []offer {
	out := make([]offer, len(j.Variants))
	for i, v := range j.Variants {
		ready, grows := scaling.Replicas(math.MaxInt), true
		for _, m := range past {
			ready = min(ready, m.variants[i].Ready)
			grows = grows && m.variants[i].Grows && float64(failing(m.variants[i])+m.variants[i].Doomed) <= likelyPart*float64(m.variants[i].Ready)
		}
		o := offer{rate: j.needs.PerReplica(j.Case, v), cost: v.Cost, least: v.Min, most: min(j.most(v), 400)}
		// The engine does not know a variant that ran only lately.
		unknown := (j.seen[i] == 0 || j.seen[i] > len(j.ticks)-len(past)) && (j.Engine == Tokens || j.Engine == HybridTokens)
		if !grows || unknown || j.Engine == Spare {
			o.most = min(o.most, ready)
		}
		if j.Engine == Spare {
			o.least = max(1, o.least)
		}
		o.least = min(o.least, o.most)
		out[i] = o
	}
	return out
}

// change is a change of a decision.
type change struct {
	at     time.Duration
	by, to scaling.Replicas
}

// turns counts how often growth follows a reduction, and a reduction growth. A reduction that only
// gives back what growth added beyond the replicas before the last reduction does not count, once: that
// was tried, and is undone.
func turns(changes []change) (n int) {
	last := scaling.Replicas(0)
	before, left := scaling.Replicas(-1), scaling.Replicas(-1) // before the last reduction; what is left of growth given back; -1 is none
	for _, c := range changes {
		switch {
		case c.by > 0:
			if last < 0 {
				n++
			}
			left = -1
		case last > 0 && before >= 0 && c.to >= before:
			before, left = -1, before
		case last > 0:
			n++
			before = c.to - c.by
		case last == 0:
			before = c.to - c.by
		case left >= 0 && c.to < left:
			n++
			before, left = left, -1
		}
		last = c.by
	}
	return n
}

// calmFor is how long nothing must have changed before turns count, beyond what pace explains, and
// the time in which one turn is allowed.
const calmFor = 6 * time.Hour

// restless checks that a fleet comes to rest at constant load.
func (j *judging) restless(t plant.Tick) {
	since, calm := j.calmSince(t.At)
	replicas, lead := scaling.Replicas(0), time.Duration(0)
	for _, v := range t.Variants {
		replicas, lead = replicas+v.Current, max(lead, v.Lead)
	}
	since += j.moving(replicas, lead)
	for i, v := range t.Variants {
		if n := len(j.ticks); n > 1 {
			ignored := j.Tolerance > 0 && v.Current > 0 && v.Wanted > 0 && scaling.Tolerates(j.Tolerance, v.Wanted, v.Current)
			if by := v.Wanted - j.ticks[n-2].variants[i].Wanted; by != 0 && !ignored {
				j.changes[i] = append(j.changes[i], change{t.At, by, v.Wanted})
			}
		}
		if !calm || t.At < since+calmFor {
			continue
		}
		recent := slices.DeleteFunc(slices.Clone(j.changes[i]), func(c change) bool { return c.at < max(since+calmFor, t.At-calmFor) })
		if n := turns(recent); n > 1 {
			j.violate(Turns, t, "%s has turned %d times within %s, %s after the last change of load or faults and a move at the given pace; %d changes in all",
				j.Variants[i].Name, n, calmFor, (t.At - since).Round(time.Minute), len(j.changes[i]))
		}
	}
}

// soundEvery is the number of ticks between two checks that cost as much as a decision.
const soundEvery = 53

// sound checks that plans are within bounds, finite, and independent of the order of the input.
func (j *judging) sound(t plant.Tick) {
	for i, v := range t.Variants {
		one := j.Variants[i]
		d, decided := decision(t, key(one.Name))
		if !decided || v.Deleted {
			continue
		}
		cut := slices.ContainsFunc(d.Steps, func(s scaling.Step) bool { return s.Stage == scaling.StageCapacity })
		paced := slices.ContainsFunc(d.Steps, func(s scaling.Step) bool { return s.Stage == scaling.StageStabilize })
		if v.Wanted < 0 || v.Wanted > j.most(one) || v.Wanted < one.Min && !cut && !paced && one.Min <= j.most(one) {
			j.violate(Bounds, t, "%d replicas of %s are decided on, its bounds are %d to %d", v.Wanted, one.Name, one.Min, j.most(one))
		}
	}
	if len(j.ticks)%soundEvery != 0 {
		return
	}
	plan, err := json.Marshal(t.Verdict.Plan)
	if err == nil {
		_, err = json.Marshal(historyOf(t.Verdict.History))
	}
	if err != nil {
		j.violate(Numbers, t, "%v", err)
		return
	}
	again, err := json.Marshal(t.Setup.Decide(shuffled(t)).Plan)
	if err != nil || string(again) != string(plan) {
		j.violate(Order, t, "in another order the plan is %s", again)
	}
}

// historyOf returns a history as a list, since JSON cannot hold a map with struct keys.
func historyOf(h memory.History) []memory.Past {
	out := make([]memory.Past, 0, len(h))
	for _, p := range h {
		out = append(out, p)
	}
	return out
}

// shuffled returns the case of t with its slices in another order.
func shuffled(t plant.Tick) cycle.Case {
	r := rand.New(rand.NewPCG(uint64(t.At), 3))
	c := t.Case
	c.Snapshots = slices.Clone(c.Snapshots)
	for i, s := range c.Snapshots {
		s.Variants, s.Replicas = slices.Clone(s.Variants), slices.Clone(s.Replicas)
		r.Shuffle(len(s.Variants), func(a, b int) { s.Variants[a], s.Variants[b] = s.Variants[b], s.Variants[a] })
		r.Shuffle(len(s.Replicas), func(a, b int) { s.Replicas[a], s.Replicas[b] = s.Replicas[b], s.Replicas[a] })
		c.Snapshots[i] = s
	}
	return c
}

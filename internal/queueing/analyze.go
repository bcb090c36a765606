package queueing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Name is the analyzer's name in an Analysis.
const Name = "queueing"

// Analyze compares the load of a model with what its replicas serve within the objective. The load
// is the measured one, or the forecast by past where that is larger. The Signal is Unknown, with
// the reason, where load or capacity is unknown.
func Analyze(snap scaling.Snapshot, objective scaling.Objective, options Options, past Memory) scaling.Analysis {
	a := scaling.Analysis{Model: snap.Model, Analyzer: Name, Unit: scaling.UnitRequestRate, Reason: scaling.ReasonNoData}
	if !objective.Set() {
		a.Reason, a.Detail = scaling.ReasonServiceClassMissing, "no service class names a TTFT or an ITL for the model"
		return a
	}
	load, why := measure(snap)
	if why != "" {
		a.Detail = why
		return a
	}
	load.forecast = Look(snap, past)
	load = load.smoothed(snap, past)
	load.forecast = load.forecast.orHeadroom(load.rate, snap, past)
	variants := withBatch(scaling.ByKey(snap.Variants), snap, past.Traffic.Footprint)
	sized, fault := sizeAll(correct(variants, past.Traffic.Means), load, objective, options)
	if fault.reason != "" {
		a.Reason, a.Detail = fault.reason, fault.detail
		return a
	}
	pool(sized, load)
	if load.none() && (load.inBatches > 0 || len(load.unsure) > 0) {
		return concurrent(a, sized, load)
	}
	a.Promised = byProfile(sized)
	allowance, spent := allowance(past.Traffic.Budget, objective)
	times := allowance
	evidence := witnessed(past.Traffic, snap, objective, a.Promised)
	if a.Promised > 0 && !unseen(past.Traffic.Budget, objective) {
		times = learned(evidence, objective, allowance)
	}
	allow(sized, times)
	spent += told(evidence, times/allowance)
	limitToServed(sized, load, snap, past)
	resort := lastResort(sized, load, objective, options, snap, past)
	shared := asShared(sized, past.Traffic.Shares)
	contradicted := add(&a, shared, load, snap, past)
	if a.Demand > a.Anticipated {
		a.Demand = a.Anticipated + (a.Demand-a.Anticipated)*coldness(shared, variants, load, objective, options)
	}
	if slower := compare(&a, snap, sizings{shared, asStated(variants, sized, load), objective}, load); load.doubt == "" {
		load.doubt = slower
	}
	byVariant := split(&a, shared, load, snap, past)
	keep := kept(a, shared, load)
	a.Signal, a.Reason, a.Detail = direction(a, load, keep)
	a.Doubtful = a.Signal == scaling.Steady && load.stale && a.Demand < a.Supply
	a.Detail += byVariant + contradicted + resort + spent
	if a.Signal == scaling.Shrink {
		a.Demand = keep
	}
	if infeasible(sized) {
		a.Reason = scaling.ReasonObjectiveInfeasible
		a.Detail += "; no variant meets the objectives, not even without other load, and replicas are sized to the best that is possible: " + describe(a.Infeasible)
	}
	return a
}

// add fills in demand, supply and the variants. It returns in words that requests wait although the
// profiles say that all is served, "" where that is not so.
func add(a *scaling.Analysis, sized []sizing, load load, snap scaling.Snapshot, past Memory) string {
	completed, largest, replicas := 0.0, 0.0, 0.0
	for _, s := range sized {
		ready, current := s.replicas()
		a.Supply += s.rate * ready
		a.Anticipated += s.rate * max(ready, current)
		completed += s.most * max(ready, current)
		largest = max(largest, s.rate)
		replicas += ready
		if s.infeasible != nil {
			a.Infeasible = append(a.Infeasible, *s.infeasible)
		}
	}
	present, contradicted := present(load.rate, load.backlog, largest, completed, a.Anticipated, memory.Lead(snap.Variants, past.Interval)), ""
	if stands(*a, load, snap, past, replicas) && present <= a.Anticipated {
		present = contradicting(present, load.backlog, a.Anticipated)
		contradicted = fmt.Sprintf("; requests have waited since %s and do not become fewer, although the profiles say that all is served",
			past.Backlog.StandsSince.UTC().Format(time.TimeOnly))
	}
	a.Demand = max(present, load.forecast.Rate)
	for _, s := range sized {
		c := scaling.Capacity{Variant: s.variant.Key, PerReplica: s.rate, Source: s.source, Fixed: s.fixed}
		if ready, _ := s.replicas(); ready > 0 && s.rate > 0 {
			c.Utilization = present / a.Supply
		}
		a.Variants = append(a.Variants, c)
	}
	return contradicted
}

// present returns the request rate that replicas have to serve now: what arrives, and a part of
// what waits. completed is what the running and ordered replicas complete at most, serve is what
// they serve within the objectives, and largest what the largest of them does. All rates are in
// requests/s.
func present(arrives, waits, largest, completed, serve float64, lead time.Duration) float64 {
	now := arrives + min(waits/soon.Seconds(), largest)
	if completed > 0 && serve > 0 {
		now = max(now, memory.Queue{Waiting: waits, Arrive: arrives, Served: completed, Fill: serve / completed, Lead: lead}.Rate())
	}
	return now
}

// contradicting returns the request rate to serve where requests wait although, by the profiles,
// the replicas serve enough.
func contradicting(present, waits, serve float64) float64 {
	clears := memory.Queue{Waiting: waits, Fill: 1}.Rate() // with nothing of what the profiles promise
	return min(serve+max(clears, little*serve), believed*present)
}

const (
	// soon is the time in which a small backlog is to be served, by one more replica at most. It is
	// about as long as the window over which rates are measured, so that the backlog is gone when
	// they show it.
	soon = time.Minute
	// little is a part of the supply so small that one replica of any size carries it.
	little = 1e-6
	// believed limits what a queue that contradicts the profiles may order, as a multiple of what
	// the profiles ask for. Where that is not enough, more replicas do not help.
	believed = 3
	// standsFor is for how many windows requests must wait to contradict a profile.
	standsFor = 2
)

// coldness returns how many replicas with a cold prefix cache serve as much as one with a warm
// cache, >= 1. A new replica finds half as many of its prompts' tokens in its cache as the others,
// until it has seen as many prompts. It is the least of the variants that may grow.
func coldness(sized []sizing, variants []scaling.Variant, load load, objective scaling.Objective, options Options) float64 {
	cold := load
	cold.input = load.input + (load.prompt-load.input)*coldHits
	least := 0.0
	for i, s := range sized {
		if s.rate <= 0 || s.fixed || cold.input <= load.input {
			continue
		}
		// By the stated profile both times: what corrects it is of the warm replicas.
		warm, cool := size(variants[i], load, objective, options), size(variants[i], cold, objective, options)
		if warm.rate <= 0 || cool.rate <= 0 {
			continue
		}
		if ratio := warm.rate / cool.rate; least == 0 || ratio < least {
			least = ratio
		}
	}
	return max(1, least)
}

// coldHits is the part of the tokens found in warm prefix caches that a new replica does not find
// in its own.
const coldHits = 0.5

// stands reports whether a queue contradicts the profiles: more than one request for each replica
// has waited for two windows, their number does not fall, and no replica is starting or new.
func stands(a scaling.Analysis, load load, snap scaling.Snapshot, past Memory, replicas float64) bool {
	return load.backlog > replicas && replicas > 0 && past.Backlog.Stands(snap.At, standsFor*snap.Window) &&
		a.Anticipated <= a.Supply && !snap.Young()
}

// kept returns the load that the replicas left by a reduction must carry: the demand, or what
// carries the requests that are being computed where that is more, and all that a replica carries
// for each one whose queue length is unknown.
func kept(a scaling.Analysis, sized []sizing, load load) float64 {
	inBatches, room := 0.0, 0.0
	for _, s := range sized {
		ready, _ := s.replicas()
		inBatches += load.running[s.variant.Key]
		room += ready * s.batch
	}
	keep := a.Demand
	if room > 0 {
		keep = max(keep, a.Supply*inBatches/room)
	}
	for _, one := range load.unsure {
		for _, s := range sized {
			if s.variant.Key == one.Variant {
				keep += s.rate
			}
		}
	}
	return keep
}

// concurrent analyses a model whose replicas compute requests while none arrives, waits or ends, so
// that the lengths of requests are unknown. The model needs enough replicas to compute these
// requests within the ITL, and no more.
func concurrent(a scaling.Analysis, sized []sizing, load load) scaling.Analysis {
	a.Unit, a.FromReplicas = scaling.UnitRequests, true
	keep := 0.0
	for _, s := range sized {
		ready, current := s.replicas()
		a.Supply += s.batch * ready
		a.Anticipated += s.batch * max(ready, current)
		c := scaling.Capacity{Variant: s.variant.Key, PerReplica: s.batch, Source: "requests that a replica computes together within the ITL", Fixed: s.fixed}
		if ready > 0 && s.batch > 0 {
			c.Utilization = load.running[s.variant.Key] / (ready * s.batch)
		}
		a.Variants = append(a.Variants, c)
		keep += load.running[s.variant.Key]
		for _, one := range load.unsure {
			if one.Variant == s.variant.Key {
				keep += s.batch
			}
		}
	}
	a.Signal, a.Reason, a.Demand = scaling.Steady, scaling.ReasonSteady, min(keep, a.Supply)
	a.Detail = fmt.Sprintf("%.0f requests are being computed and none arrives; the Ready replicas compute %.3g within the objectives", load.inBatches, a.Supply)
	switch {
	case keep >= a.Supply:
	case load.doubt != "":
		a.Detail += "; not reduced: " + load.doubt
	default:
		a.Signal, a.Reason = scaling.Shrink, scaling.ReasonSpareCapacity
	}
	return a
}

// direction compares the demand with the supply and with what was ordered, and returns the signal.
// keep is what the replicas that stay after a reduction must carry.
func direction(a scaling.Analysis, load load, keep float64) (scaling.Signal, scaling.Reason, string) {
	detail := fmt.Sprintf("%s; the Ready replicas serve %.3g within the objectives%s", load.asked(a.Demand), a.Supply, a.OnTheWay("%.3g"))
	switch {
	case a.Demand > a.Anticipated:
		return scaling.Grow, scaling.ReasonDemand, detail
	case a.Demand >= a.Supply && a.Demand > 0:
		return scaling.Steady, scaling.ReasonSteady, detail
	case load.doubt != "":
		return scaling.Steady, scaling.ReasonSteady, detail + "; not reduced: " + load.doubt
	}
	var notes []string
	if keep > a.Demand && load.inBatches > 0 {
		notes = append(notes, fmt.Sprintf("%.0f requests are being computed", load.inBatches))
	}
	if len(load.unsure) > 0 {
		notes = append(notes, load.unsurePods()+", without a fresh queue length, count as full")
	}
	if keep >= a.Supply && keep > 0 {
		return scaling.Steady, scaling.ReasonSteady, detail + "; not reduced: " + strings.Join(notes, "; ")
	}
	if len(notes) > 0 {
		detail += "; " + strings.Join(notes, "; ")
	}
	return scaling.Shrink, scaling.ReasonSpareCapacity, detail
}

// infeasible reports whether no variant meets the objectives.
func infeasible(sized []sizing) bool {
	return slices.ContainsFunc(sized, func(s sizing) bool { return s.infeasible != nil }) &&
		!slices.ContainsFunc(sized, func(s sizing) bool { return s.infeasible == nil && s.usable && s.rate > 0 && !s.fixed })
}

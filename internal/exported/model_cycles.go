package exported

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

// ModelCycles holds the cycles of each model, in the order of time.
type ModelCycles map[scaling.ModelKey][]shadow.ModelCycle

// stretch is a time in which a variant served a model.
type stretch struct {
	*served
	of *variantSeries
}

// modelCyclesOf returns a cycle for each model and scrape, from the values of the variants.
func modelCyclesOf(variants map[scaling.VariantKey]*variantSeries, step time.Duration) ModelCycles {
	models := map[scaling.ModelKey][]stretch{}
	for _, key := range slices.SortedFunc(maps.Keys(variants), scaling.VariantKey.Compare) {
		for _, s := range variants[key].served {
			model := scaling.ModelKey{Namespace: key.Namespace, ID: s.model}
			models[model] = append(models[model], stretch{s, variants[key]})
		}
	}
	out := ModelCycles{}
	for model, of := range models {
		if cycles := modelCyclesAt(of); len(cycles) > 0 {
			out[model] = planned(cycles, step)
		}
	}
	return out
}

// modelCyclesAt returns the cycles of one model. A time without a newer value than the cycle before
// gives no cycle.
func modelCyclesAt(of []stretch) []shadow.ModelCycle {
	times := map[int64]bool{}
	for _, s := range of {
		for at := range s.scraped {
			times[at] = true
		}
	}
	var cycles []shadow.ModelCycle
	newest := math.Inf(-1)
	for _, at := range slices.Sorted(maps.Keys(times)) {
		seen := newest
		for _, s := range of {
			if scraped, there := s.scraped[at]; there {
				seen = max(seen, scraped)
			}
		}
		if !(seen > newest) {
			continue
		}
		newest = seen
		if l := modelCycleAt(of, at); len(l.Variants) > 0 {
			cycles = append(cycles, l)
		}
	}
	return cycles
}

// planned returns cycles with their Interval set to the usual time between two of them: the step, or
// the median time between cycles where that is longer.
func planned(cycles []shadow.ModelCycle, step time.Duration) []shadow.ModelCycle {
	apart := make([]time.Duration, 0, len(cycles))
	for i := range len(cycles) - 1 {
		apart = append(apart, cycles[i+1].At.Sub(cycles[i].At))
	}
	if len(apart) > 0 {
		slices.Sort(apart)
		step = max(step, apart[len(apart)/2])
	}
	for i := range cycles {
		cycles[i].Interval = step
	}
	return cycles
}

// modelCycleAt returns the cycle of a model at one time. It leaves out a variant without values,
// which did not exist then.
func modelCycleAt(of []stretch, at int64) shadow.ModelCycle {
	l := shadow.ModelCycle{At: time.Unix(at, 0).UTC()}
	newest := 0.0 // scrape time of the last variant
	for _, s := range of {
		v := s.of
		scraped, there := s.scraped[at]
		current, observed := v.current[at]
		target, decided := v.advised[at]
		advised := decided
		if !decided {
			target, decided = v.desired[at]
		}
		if !there || !observed && !decided {
			continue
		}
		l.Advisory = l.Advisory || advised
		if rate, known := v.rate[at]; known && !math.IsNaN(rate) {
			l.Rate = scaling.Measured(rate, scaling.Fresh)
		}
		seen := shadow.Seen{
			Key: v.key, Accelerator: s.accelerator, GPUs: max(1, scaling.Accelerators(v.gpus[at])), Cost: v.cost[at], Bounds: scaling.Unbounded(),
			Observed: observed, Current: scaling.Replicas(current), Ready: scaling.Replicas(v.ready[at]), Decided: decided, Target: scaling.Replicas(target),
		}
		if n := len(l.Variants); n == 0 || l.Variants[n-1].Key != v.key {
			l.Variants, newest = append(l.Variants, seen), scraped
		} else if scraped > newest { // of two types of accelerators, keep the one that was scraped last
			l.Variants[n-1], newest = seen, scraped
		}
	}
	return l
}

package plant

import (
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The ages up to which internal/collector trusts a page, and how long it waits for the first page
// of a pod.
const (
	freshUntil   = time.Minute
	agingUntil   = 5 * time.Minute
	pageGrace    = 2 * scrape
	askedUntil   = 15 * time.Minute
	longestStart = time.Hour // the longest time that internal/discovery counts as a start-up
)

// state returns the freshness of the page of a pod.
func (p *pod) state(now time.Duration) scaling.Freshness {
	switch age := now - p.scrapedAt; {
	case !p.scraped || age >= askedUntil:
		return scaling.Absent
	case age < freshUntil:
		return scaling.Fresh
	case age < agingUntil:
		return scaling.Aging
	}
	return scaling.Stale
}

// observe returns the Snapshot that discovery and the collector would make of the plant.
func (w *plant) observe(now time.Duration, offered float64) scaling.Snapshot {
	s := scaling.Snapshot{Model: w.Model, At: w.clock(now), Window: window}
	for _, v := range w.variants {
		s.Variants = append(s.Variants, w.describe(v, now))
		for _, p := range v.pods {
			if sample, ok := w.sample(v, p, now); ok {
				s.Replicas = append(s.Replicas, sample)
			}
		}
	}
	slices.SortFunc(s.Variants, func(a, b scaling.Variant) int { return a.Key.Compare(b.Key) })
	s.Replicas = s.Sorted()
	s.Load = w.load(now, offered)
	return s
}

// describe returns a variant with its replicas, as internal/discovery counts them.
func (w *plant) describe(v *variant, now time.Duration) scaling.Variant {
	spec := v.Spec
	spec.Model = w.Model
	if v.deleted {
		spec.Missing, spec.Gone = "not found", true
		return spec
	}
	r := scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(len(v.pods))}
	var starts []time.Duration
	newest := time.Duration(math.MinInt64)
	for _, p := range v.pods {
		if p.placed > now {
			r.Unschedulable++
		}
		if !p.ready {
			continue
		}
		r.Ready++
		newest = max(newest, p.readyAt)
		if took := p.readyAt - p.created; took <= longestStart {
			starts = append(starts, took)
		}
	}
	r.Pending = r.Current - r.Ready
	if r.Ready > 0 {
		r.NewestReady = epoch.Add(newest) // by the clock of the API server
	}
	if len(starts) > 0 {
		slices.Sort(starts)
		v.usual = starts[(len(starts)-1)/2]
	}
	spec.StartUp = v.usual
	spec.Replicas = r
	return spec
}

// sample returns what a pod reports, and false for a pod that is not Ready and reports nothing.
func (w *plant) sample(v *variant, p *pod, now time.Duration) (scaling.ReplicaSample, bool) {
	r := scaling.ReplicaSample{Pod: p.name, Variant: v.Spec.Key, Ready: p.ready}
	state := p.state(now)
	if !p.runs || state == scaling.Absent {
		return r, p.ready
	}
	r.At = w.clock(p.scrapedAt)
	if now-p.scrapedAt >= query.ScrapeSpan {
		gone := scaling.Reading{State: state}
		r.KVCacheUsage, r.QueueLength, r.KVCacheUsageNow, r.QueueLengthNow, r.Running, r.KVCapacity = gone, gone, gone, gone, gone, gone
		return r, p.ready
	}
	ticks := max(1, int(window/w.Tick))
	usage, queue := slices.Max(p.usage[:ticks]), slices.Max(p.queue[:ticks])
	r.KVCacheUsage, r.KVCacheUsageNow = scaling.Measured(usage, state), scaling.Measured(p.usage[0], state)
	r.QueueLength, r.QueueLengthNow = scaling.Measured(queue, state), scaling.Measured(p.queue[0], state)
	r.Running = scaling.Measured(math.Floor(p.usage[0]*v.KVTokens/w.Tokens()+p.phase), state)
	r.KVCapacity = scaling.Measured(v.KVTokens, state)
	return r, true
}

// coverage returns the freshness of sums over all pods by the rule of collector.coverage: that of
// the freshest page, but Aging at best while half of the Ready pods have no Fresh page. One pod of
// a variant may be too young for a page.
func (w *plant) coverage(now time.Duration) scaling.Freshness {
	freshest, ready, missing := scaling.Absent, 0, 0
	for _, v := range w.variants {
		newest := time.Duration(math.MinInt64)
		for _, p := range v.pods {
			if p.ready {
				newest = max(newest, p.readyAt)
			}
		}
		young := newest > now-pageGrace
		for _, p := range v.pods {
			if !p.runs || !p.ready && !p.scraped {
				continue
			}
			state := p.state(now)
			freshest = max(freshest, state)
			if p.ready {
				ready++
			}
			switch {
			case state == scaling.Fresh || !p.ready:
			case state == scaling.Absent && young:
				young = false
			default:
				missing++
			}
		}
	}
	if 2*missing >= max(1, ready) {
		return min(freshest, scaling.Aging)
	}
	return freshest
}

// load returns the load of the model, as the collector measures it.
func (w *plant) load(now time.Duration, offered float64) scaling.Load {
	state := w.coverage(now)
	absent, none := scaling.Reading{}, scaling.Reading{State: scaling.NotApplicable}
	l := scaling.Load{GatewayQueue: none, PrefixHits: none, TTFTBuckets: scaling.Histogram{State: scaling.NotApplicable}, ITLBuckets: scaling.Histogram{State: scaling.NotApplicable}, RequestITLBuckets: scaling.Histogram{State: scaling.NotApplicable}}
	ticks := max(1, int(window/w.Tick))
	rate := 0.0
	for _, r := range w.rates[:ticks] {
		rate += r / float64(ticks)
	}
	seen, ttft, itl := w.latencies(now, offered)
	switch state {
	case scaling.Absent:
		l.ArrivalRate, l.InputTokens, l.OutputTokens, l.TTFT, l.ITL = absent, absent, absent, absent, absent
	case scaling.Stale:
		gone := scaling.Reading{State: scaling.Stale}
		l.ArrivalRate, l.InputTokens, l.OutputTokens, l.TTFT, l.ITL = gone, gone, gone, gone, gone
	default:
		l.ArrivalRate = scaling.Measured(rate*seen, state)
		l.InputTokens, l.OutputTokens = scaling.Measured(w.InputTokens, state), scaling.Measured(w.OutputTokens, state)
		l.TTFT, l.ITL = scaling.Measured(ttft, state), scaling.Measured(itl, state)
		if rate == 0 && state == scaling.Fresh {
			l.InputTokens, l.OutputTokens, l.TTFT, l.ITL = none, none, none, none
		}
	}
	if w.Gateway {
		l.GatewayQueue = scaling.Measured(math.Floor(w.held), scaling.Fresh)
		if l.ArrivalRate.Known() {
			l.ArrivalRate.Value = max(l.ArrivalRate.Value, rate)
		} else {
			l.ArrivalRate = scaling.Measured(rate, scaling.Aging)
		}
	}
	return l
}

// latencies returns the share of the requests that pods with a Fresh page serve, and their mean
// latencies.
func (w *plant) latencies(now time.Duration, offered float64) (seen, ttft, itl float64) {
	shares, _, _ := w.shares()
	weight := 0.0
	for i, v := range w.variants {
		can, ready := w.best(v)
		if ready == 0 {
			continue
		}
		tell := 0
		for _, p := range v.pods {
			if p.ready && p.state(now) == scaling.Fresh {
				tell++
			}
		}
		n, _ := w.running(v, offered*shares[i], ready)
		part := shares[i] * float64(tell) / float64(ready)
		profile := v.Spec.Profile
		itl += part * (profile.Alpha + profile.Beta*n)
		ttft += part * (profile.Gamma + profile.Delta*w.InputTokens*n + 1000*v.backlog/max(can, 1e-9))
		weight += part
	}
	if weight > 0 {
		ttft, itl = ttft/weight, itl/weight
	}
	return weight, ttft, itl
}

// pages returns the number of Ready pods with a Fresh page, and of those without.
func (v *variant) pages(now time.Duration) (fresh, mute int) {
	for _, p := range v.pods {
		switch {
		case p.ready && p.state(now) == scaling.Fresh:
			fresh++
		case p.ready:
			mute++
		}
	}
	return fresh, mute
}

// known reports whether the load of the model is visible: reports says that a Ready pod has a Fresh
// page, hidden that requests wait in a variant of which none has. A gateway counts all requests,
// and does not say where they wait if others share them by variant.
func (w *plant) known(reports, hidden bool) bool {
	if w.Gateway {
		return !hidden || w.Spread != Weighted
	}
	return reports && !hidden
}

// tick returns the Tick of a cycle.
func (w *plant) tick(now time.Duration, offered float64, in cycle.Case, verdict cycle.Verdict) Tick {
	t := Tick{At: now, Offered: offered, Waiting: w.held, Case: in, Verdict: verdict}
	fresh, mute, hidden := 0, 0, false
	for _, v := range w.variants {
		shows, silent := v.pages(now)
		fresh, mute = fresh+shows, mute+silent
		can, ready := w.best(v)
		one := VariantTick{Current: scaling.Replicas(len(v.pods)), Ready: ready, Deleted: v.deleted, Wanted: scaling.Replicas(len(v.pods)), Stands: scaling.Replicas(len(v.pods))}
		if past, ok := w.past[v.Spec.Key]; ok {
			one.Stands = past.Desired
		}
		for _, p := range v.pods {
			if p.placed <= now {
				one.Placed++
			}
			if w.bad(p, now) {
				one.Bad++
			}
		}
		one.Doomed = w.doomed(v, now)
		for _, d := range verdict.Plan.Decisions {
			if d.Variant == v.Spec.Key {
				one.Wanted = d.Target()
			}
		}
		one.Lead, one.Grows = w.Lead(v.Variant, one.Current, now)
		hidden = hidden || v.backlog >= 1 && shows == 0
		t.Capacity += can
		one.Waits = v.backlog
		for _, p := range v.pods {
			one.Waits += p.held
		}
		t.Waiting += one.Waits
		t.Variants = append(t.Variants, one)
	}
	if w.Spread == Weighted {
		t.Capacity = w.carries()
	}
	t.Known, t.Blind = w.known(fresh > 0, hidden), mute > fresh
	return t
}

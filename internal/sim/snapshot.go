package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The numbers by which internal/collector sets windows and freshness.
const (
	minWindow     = time.Minute
	unknownWindow = 5 * time.Minute // until the scrape interval is known
	windowScrapes = 4
	freshAtLeast  = time.Minute
	agingAtLeast  = 5 * time.Minute
	// A young store knows the interval after enoughScrapes within a minute.
	enoughScrapes = 4
)

// survey holds what all readings of one instant have in common.
type survey struct {
	now      time.Duration
	interval time.Duration // of the scrapes, 0 while unknown
	window   time.Duration
	fresh    time.Duration // younger pages are Fresh
	aging    time.Duration // younger pages are Aging
	grace    time.Duration // a pod that became ready needs no page for so long
}

// survey returns the survey of now.
func (w *world) survey() survey {
	s := survey{now: w.now, interval: w.knownInterval(), window: unknownWindow}
	if s.interval > 0 {
		s.window = max(minWindow, windowScrapes*s.interval)
	}
	s.grace = 2 * s.interval
	s.fresh = max(freshAtLeast, 2*s.interval)
	s.aging = max(agingAtLeast, 2*s.fresh)
	return s
}

// knownInterval returns the scrape interval if the store can tell it, else 0: one pod that is not
// being removed has pages from before the look-back until now, or the median pod was scraped
// enoughScrapes times within the last minute. See query.AskScrapeIntervals.
func (w *world) knownInterval() time.Duration {
	var lately []int
	for _, v := range w.variants {
		for _, p := range v.pods {
			if len(p.pages) == 0 || p.pages[len(p.pages)-1].at <= w.now-query.ScrapeSpan {
				continue
			}
			if p.pages[0].at <= w.now-query.ScrapeSpan {
				return w.cfg.ScrapeInterval
			}
			lately = append(lately, len(since(p.pages, w.now-time.Minute)))
		}
	}
	slices.Sort(lately)
	if n := len(lately); n > 0 && lately[(n-1)/2] >= enoughScrapes {
		return w.cfg.ScrapeInterval
	}
	return 0
}

// state returns the freshness of a page that was scraped at an instant.
func (s survey) state(at time.Duration) scaling.Freshness {
	switch age := s.now - at; {
	case age < s.fresh && s.interval > 0:
		return scaling.Fresh
	case age < s.aging:
		return scaling.Aging
	default:
		return scaling.Stale
	}
}

// snapshot returns the Snapshot of a model, as the collector would make it.
func (w *world) snapshot(m *model, s survey) scaling.Snapshot {
	snap := scaling.Snapshot{Model: m.Key, At: w.clock(w.now), Window: s.window}
	for _, v := range m.variants {
		snap.Variants = append(snap.Variants, w.describe(v))
		for _, p := range v.pods {
			one := w.sample(p, s)
			if p.phase == serves || p.phase == unready && one.Reports() {
				snap.Replicas = append(snap.Replicas, one)
			}
		}
	}
	slices.SortFunc(snap.Replicas, func(a, b scaling.ReplicaSample) int {
		return cmp.Or(a.Variant.Compare(b.Variant), strings.Compare(a.Pod, b.Pod))
	})
	f := m.flows(s)
	snap.Load = w.load(m, s, f)
	if m.split {
		snap.Roles, snap.Load = w.roles(m, s, snap.Load, f)
	}
	return snap
}

// coverage returns the freshness of sums over the pods of some variants: that of the freshest page,
// but Aging at best while half of the Ready pods have no Fresh page. One pod of a variant may have
// no page yet if the newest Ready one is young. It is the rule of collector.coverage.
func (s survey) coverage(variants ...*variant) scaling.Freshness {
	freshest, ready, missing := scaling.Absent, 0, 0
	for _, v := range variants {
		newest := time.Duration(-1)
		for _, p := range v.pods {
			if p.phase == serves {
				newest = max(newest, p.served)
			}
		}
		young := newest >= 0 && s.now-newest < s.grace
		for _, p := range v.pods {
			if p.phase != serves && p.phase != unready {
				continue
			}
			state := s.freshness(p)
			freshest = max(freshest, state)
			if p.phase == serves {
				ready++
			}
			switch {
			case state == scaling.Fresh || p.phase == unready:
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

// earlierPages is how far back the collector asks for pages: query.AskEarlierPages.
const earlierPages = 15 * time.Minute

// freshness returns the freshness of the newest page of a pod: Absent before the first scrape, and
// once no query reaches back to that page.
func (s survey) freshness(p *pod) scaling.Freshness {
	if len(p.pages) == 0 || s.now-p.pages[len(p.pages)-1].at >= earlierPages {
		return scaling.Absent
	}
	return s.state(p.pages[len(p.pages)-1].at)
}

// describe returns the Spec of a variant with its replicas, as internal/discovery counts them.
func (w *world) describe(v *variant) scaling.Variant {
	spec := v.Spec
	if v.deleted {
		spec.Missing, spec.Gone = "not found", true
		return spec
	}
	spec.Replicas = scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(len(v.pods))}
	var starts []time.Duration
	var newest time.Duration
	for _, p := range v.pods {
		switch p.phase {
		case unplaced:
			spec.Replicas.Unschedulable++
		case serves:
			spec.Replicas.Ready++
			newest = max(newest, p.served)
			if p.number > v.Replicas { // replicas of the start of the run were never started
				starts = append(starts, p.served-p.created)
			} else {
				starts = append(starts, v.StartUp.Mean)
			}
		case starting, unready, draining, gone:
		}
	}
	spec.Replicas.Pending = spec.Replicas.Current - spec.Replicas.Ready
	if spec.Replicas.Ready > 0 {
		spec.Replicas.NewestReady = w.at(newest)
		slices.Sort(starts)
		spec.StartUp = starts[(len(starts)-1)/2]
	}
	return spec
}

// sample returns what the store says of a pod.
func (w *world) sample(p *pod, s survey) scaling.ReplicaSample {
	r := scaling.ReplicaSample{Pod: p.name, Variant: p.variant.Spec.Key, Ready: p.phase == serves}
	if s.freshness(p) == scaling.Absent {
		return r
	}
	last := &p.pages[len(p.pages)-1]
	r.At = w.clock(last.at)
	state := s.state(last.at)
	if s.now-last.at >= query.ScrapeSpan {
		// No selector reaches back to the page, so its values are unknown.
		gone := scaling.Reading{}
		if state == scaling.Stale {
			gone.State = scaling.Stale
		}
		r.KVCacheUsage, r.QueueLength, r.KVCacheUsageNow, r.QueueLengthNow, r.Running, r.KVCapacity = gone, gone, gone, gone, gone, gone
		return r
	}
	usage, waiting := last.usage, last.waiting
	for i := range since(p.pages, s.now-s.window) {
		one := &p.pages[len(p.pages)-1-i]
		usage, waiting = max(usage, one.usage), max(waiting, one.waiting)
	}
	r.KVCacheUsage, r.KVCacheUsageNow = scaling.Measured(usage, state), scaling.Measured(last.usage, state)
	r.QueueLength, r.QueueLengthNow = scaling.Measured(waiting, state), scaling.Measured(last.waiting, state)
	r.Running = scaling.Measured(last.running, state)
	if p.capacity > 0 {
		r.KVCapacity = scaling.Measured(p.capacity, state)
	}
	if state == scaling.Fresh && (p.variant.model.hasObjective() || p.variant.model.split) {
		r.Pace = pace(since(p.pages, s.now-s.window), s)
	}
	return r
}

// pace returns the pace of a pod, from its pages within the window.
func pace(pages []scraped, s survey) scaling.Pace {
	var f flows
	f.add(pages, s, false)
	var out scaling.Pace
	if tokens := f.rates[interTokens]; tokens > 0 {
		out.Decoding, out.ITL = f.rates[itlSum]/1000, f.rates[itlSum]/tokens
	}
	if started := f.rates[firstTokens]; started > 0 {
		out.Started, out.TTFT = started, f.rates[ttftSum]/started
	}
	return out
}

// hasObjective reports whether the collector asks for the histograms of the model.
func (m *model) hasObjective() bool { return m.SLO.TTFT > 0 || m.SLO.ITL > 0 }

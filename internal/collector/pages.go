package collector

import (
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The windows over which peaks, rates and means are taken.
const (
	minWindow     = time.Minute
	unknownWindow = 5 * time.Minute // until a scrape interval is known
	// windowScrapes is how many scrapes a window spans, so that a rate survives
	// two missed ones.
	windowScrapes = 4
)

// job identifies what scrapes a pod. The name alone is not unique: two
// namespaces may configure it each for themselves.
type job struct{ namespace, name string }

// page is what one job has seen of one pod.
type page struct {
	pod int // position in the index
	job job
	at  time.Time // of the last scrape
}

// pages is when the fleet's pods were scraped and how often each job does so.
type pages struct {
	pods      podIndex
	seen      []page
	intervals map[job]time.Duration // only where known
}

// pageState is the page of one pod as of now.
type pageState struct {
	at    time.Time // zero if never scraped
	state scaling.Freshness
}

// readPages reads the answer to query.LastScrape for the pods of the fleet.
func readPages(pods podIndex, samples []Sample) pages {
	p := pages{pods: pods, intervals: map[job]time.Duration{}}
	counts := map[job][]float64{}
	for _, s := range samples {
		i, _, ok := pods.pod(s.Labels)
		v := measurable(s.Value)
		if !ok || !pods.serves(i, s.Labels) || math.IsNaN(v) {
			continue
		}
		j := job{s.Labels[query.LabelNamespace], s.Labels[query.LabelJob]}
		switch s.Labels[query.LabelStat] {
		case query.StatAt:
			p.seen = append(p.seen, page{pod: i, job: j, at: unixTime(v)})
		case query.StatScrapes:
			counts[j] = append(counts[j], v)
		}
	}
	for j, n := range counts {
		if interval := scrapeInterval(n); interval > 0 {
			p.intervals[j] = interval
		}
	}
	return p
}

// scrapeInterval returns the scrape interval of a job from how often it scraped
// each of its pods within query.ScrapeSpan, 0 when that says nothing. The median
// pod counts, so that single pods that fail to answer do not look like a slow
// job. The result is rounded, to 1s below 10s, to 5s below a minute, else to
// 30s: the count is a whole number that varies by one, and a window that moves
// with it would make equal load look different.
func scrapeInterval(counts []float64) time.Duration {
	slices.Sort(counts)
	n := counts[len(counts)/2]
	if n < 1 {
		return 0
	}
	interval := time.Duration(float64(query.ScrapeSpan) / n)
	grain := 30 * time.Second
	switch {
	case interval < 10*time.Second:
		grain = time.Second
	case interval < time.Minute:
		grain = 5 * time.Second
	}
	// Two scrapes are the least that show an interval at all.
	return min(max(interval.Round(grain), time.Second), query.ScrapeSpan/2)
}

// longest returns the longest scrape interval among the jobs, 0 while none is
// known.
func (p pages) longest() time.Duration {
	var longest time.Duration
	for _, interval := range p.intervals {
		longest = max(longest, interval)
	}
	return longest
}

// window returns the window for peaks, rates and means. One expression asks for
// the whole cluster, so the slowest job sets it. A job whose interval is not
// known yet has no say while others are: should it be slower, its peaks and its
// growth are missing, and neither lets anything shrink.
func (p pages) window() time.Duration {
	longest := p.longest()
	if longest == 0 {
		return unknownWindow
	}
	return max(minWindow, windowScrapes*longest)
}

// judge returns the page of each pod. Of several jobs the one counts that makes
// the pod freshest.
func (p pages) judge(now time.Time, least Limits, cacheTTL time.Duration) []pageState {
	states := make([]pageState, len(p.pods.pods))
	for _, seen := range p.seen {
		limits := least.For(p.intervals[seen.job], cacheTTL)
		s := &states[seen.pod]
		s.state = max(s.state, limits.State(now.Sub(seen.at)))
		if seen.at.After(s.at) {
			s.at = seen.at
		}
	}
	return states
}

// unixTime returns the instant that PromQL writes as v, to the millisecond in
// which Prometheus counts.
func unixTime(v float64) time.Time {
	const limit = float64(math.MaxInt64 / 1000) // seconds that fit in milliseconds
	return time.UnixMilli(int64(math.Round(min(v, limit/2) * 1000))).UTC()
}

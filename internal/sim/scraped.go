package sim

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// counter names one counter of a page.
type counter uint8

const (
	finished counter = iota
	inputTokens
	outputTokens
	firstTokens
	ttftSum // ms
	interTokens
	itlSum // ms
	prefixQueries
	prefixHits
	counters
)

// scraped holds the values on a pod's page at one scrape.
type scraped struct {
	at       time.Duration
	usage    float64 // of the KV cache, a ratio
	running  float64 // requests
	waiting  float64 // requests
	queued   float64 // input tokens of the waiting requests
	counters [counters]float64
	ttft     buckets // zero for a model without an objective
	itl      buckets
	each     buckets
}

// gatewayScraped holds the values on a gateway's page at one scrape.
type gatewayScraped struct {
	at   time.Duration
	held float64 // requests
	// arrivals counts the requests that were sent on, and those that no replica took.
	arrivals float64
}

// scrapePod reads the page of a pod and schedules the next scrape, until the pod is gone.
func (w *world) scrapePod(p *pod) {
	if p.phase == gone {
		return
	}
	w.agenda.push(event{at: w.now + w.cfg.ScrapeInterval, kind: podScrape, pod: p})
	if w.misses() || p.replica == nil || p.befallen(fault.Silent) {
		return
	}
	w.settle(p)
	s := p.replica.Stats()
	one := scraped{at: w.now, usage: s.KVUsage(), running: float64(s.Running), waiting: float64(s.Waiting + p.pulls), queued: float64(p.queued)}
	one.counters = [counters]float64{
		finished: float64(s.Finished), inputTokens: float64(s.FinishedInput), outputTokens: float64(s.FinishedOutput),
		firstTokens: float64(s.FirstTokens), ttftSum: milliseconds(s.TTFT + p.pulled),
		interTokens: float64(s.InterTokens), itlSum: milliseconds(s.ITL),
		prefixQueries: float64(s.PrefixQueries), prefixHits: float64(s.PrefixHits),
	}
	if p.variant.model.hasObjective() {
		one.ttft, one.itl, one.each = p.ttft.counts, p.itl.counts, p.each.counts
	}
	p.pages = append(forget(p.pages, func(o scraped) bool { return o.at <= w.now-remembered }), one)
}

// scrapeGateway reads the page of a gateway and schedules the next scrape.
func (w *world) scrapeGateway(m *model) {
	w.agenda.push(event{at: w.now + w.cfg.ScrapeInterval, kind: gatewayScrape, model: m})
	if w.misses() {
		return
	}
	one := gatewayScraped{at: w.now, held: float64(len(m.held)), arrivals: float64(uint64(m.sent) + m.tally.refused)}
	m.pages = append(forget(m.pages, func(o gatewayScraped) bool { return o.at <= w.now-remembered }), one)
}

// misses draws whether a scrape fails.
func (w *world) misses() bool { return w.missed != nil && w.missed.Float64() < w.cfg.MissedScrapes }

// remembered is how long pages are kept. No window, and no look-back of a gauge, is longer.
const remembered = windowScrapes * longestInterval

var _ [remembered - query.ScrapeSpan]struct{} // it is not longer

// forget drops the leading pages that old reports, but only when more than half are old, so that a
// page costs no more than one copy.
func forget[P any](pages []P, old func(P) bool) []P {
	n := 0
	for n < len(pages) && old(pages[n]) {
		n++
	}
	if n <= len(pages)/2 {
		return pages
	}
	return slices.Delete(pages, 0, n)
}

// since returns the pages after an instant.
func since(pages []scraped, from time.Duration) []scraped {
	i := len(pages)
	for i > 0 && pages[i-1].at > from {
		i--
	}
	return pages[i:]
}

// ends holds the first and the last sample of one series in a window.
type ends struct {
	firstAt, lastAt time.Duration
	first, last     float64
	n               int // samples
}

// change returns the difference of the two, extrapolated to a window that ends at to, and false
// below two samples. It is the rule of Prometheus (promql/functions.go, extrapolatedRate), for a
// counter that is never reset: up to an end of the window if a sample is near enough to it, else by
// half a sample interval; and never to below zero for a counter.
func (e ends) change(to, window time.Duration, isCounter bool) (float64, bool) {
	if e.n < 2 {
		return 0, false
	}
	grown := e.last - e.first
	sampled := (e.lastAt - e.firstAt).Seconds()
	mean := sampled / float64(e.n-1)
	threshold := mean * 1.1
	toStart := (e.firstAt - (to - window)).Seconds()
	toEnd := (to - e.lastAt).Seconds()
	if toStart >= threshold {
		toStart = mean / 2
	}
	if isCounter && grown > 0 && e.first >= 0 {
		toStart = min(toStart, sampled*(e.first/grown))
	}
	if toEnd >= threshold {
		toEnd = mean / 2
	}
	return grown * ((sampled + toStart + toEnd) / sampled), true
}

// endsOf returns the ends of a series on pages.
func endsOf(pages []scraped, value func(*scraped) float64) ends {
	if len(pages) == 0 {
		return ends{}
	}
	first, last := &pages[0], &pages[len(pages)-1]
	return ends{first.at, last.at, value(first), value(last), len(pages)}
}

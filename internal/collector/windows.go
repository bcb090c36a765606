package collector

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The windows over which peaks, rates and means are taken.
const (
	minWindow     = time.Minute
	unknownWindow = 5 * time.Minute // until a scrape interval of the namespace is known
	// windowScrapes is how many scrapes a window spans, so that a rate survives
	// two missed ones.
	windowScrapes = 4
	// longestInterval bounds what is believed of a scrape interval: two scrapes
	// within the look-back of Prometheus are the least that show one at all.
	longestInterval = 150 * time.Second
)

// job identifies what scrapes a pod. The name alone is not unique: two
// namespaces may configure it each for themselves.
type job struct{ namespace, name string }

// pagesSeen is which of the fleet's pods have a page, and what scrapes them.
type pagesSeen struct {
	pods   podIndex
	at     []float64 // of each pod's page [s since 1970], 0 where there is none
	oldest float64   // of the pages [s since 1970]
	jobs   map[job][]witness
}

// witness is a pod that tells how often a job scrapes, by its name in the source.
type witness struct {
	pod     string
	settled time.Time // its variant has had no new replica since; zero if unknown
}

// readPages reads the answer to query.AskPages for the pods of the fleet.
func readPages(pods podIndex, rows []query.Row) pagesSeen {
	seen := pagesSeen{pods: pods, at: make([]float64, len(pods.pods)), oldest: math.Inf(1), jobs: map[job][]witness{}}
	for _, row := range rows {
		if i, ok := pods.pod(row); ok && pods.models[i].ID == row.Model {
			seen.at[i] = max(seen.at[i], measurable(row.Value), math.SmallestNonzeroFloat64)
			seen.oldest = min(seen.oldest, row.Value)
			seen.jobs[job{row.Namespace, row.Job}] = witnesses(seen.jobs[job{row.Namespace, row.Job}], witness{row.Pod, pods.settled[i]})
		}
	}
	return seen
}

// mostWitnesses is how many pods of a job are asked for its scrape interval: their
// median does not mind two that missed scrapes.
const mostWitnesses = 5

// witnesses returns the best of some and one more, in order: those longest in
// place, because a young pod does not tell yet, then by name.
func witnesses(best []witness, one witness) []witness {
	at, _ := slices.BinarySearchFunc(best, one, witness.compare)
	if at == mostWitnesses {
		return best
	}
	best = slices.Insert(best, at, one)
	return best[:min(len(best), mostWitnesses)]
}

// compare orders witnesses, the better first.
func (w witness) compare(o witness) int {
	if w.settled.IsZero() != o.settled.IsZero() {
		if w.settled.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(w.settled.Compare(o.settled), strings.Compare(w.pod, o.pod))
}

// sample returns the names of the pods that are asked for scrape intervals. It is
// empty, which asks all, where no pod of the fleet has a page, or the jobs are too
// many to name pods of each.
func (s pagesSeen) sample() []string {
	var names []string
	for _, pods := range s.jobs {
		for _, w := range pods {
			names = append(names, w.pod)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > mostNamed {
		return nil
	}
	return names
}

// aged reports whether what a pod said last may have been before since: peaks over
// a window that begins then need what came earlier.
func (s pagesSeen) aged(since time.Time) bool {
	return s.misses() || !(s.oldest > float64(since.UnixMilli())/1000)
}

// misses reports whether a pod that is Ready has no page: it is young, or it was
// last scraped longer ago than the answer reaches.
func (s pagesSeen) misses() bool {
	for i, at := range s.at {
		if at == 0 && s.pods.pods[i].Ready {
			return true
		}
	}
	return false
}

// intervals is how often each job scrapes, only where known.
type intervals map[job]time.Duration

// readIntervals reads the answer to query.AskScrapeIntervals for the jobs that
// scrape the fleet.
func readIntervals(rows []query.Row, jobs map[job][]witness) intervals {
	known := intervals{}
	for _, row := range rows {
		j := job{row.Namespace, row.Job}
		if seconds := measurable(row.Value); len(jobs[j]) > 0 && seconds > 0 {
			known[j] = max(known[j], rounded(seconds))
		}
	}
	return known
}

// rounded returns a scrape interval to 1s below 10s, to 5s below a minute, else
// to 30s: it is measured by a count of scrapes, a whole number that varies by
// one, and a window that moves with it would make equal load look different.
func rounded(seconds float64) time.Duration {
	interval := time.Duration(min(seconds, longestInterval.Seconds()) * float64(time.Second))
	grain := 30 * time.Second
	switch {
	case interval < 10*time.Second:
		grain = time.Second
	case interval < time.Minute:
		grain = 5 * time.Second
	}
	return max(interval.Round(grain), time.Second)
}

// of returns the longest and the shortest interval among the jobs of each namespace.
func (x intervals) of() map[string]pace {
	paces := map[string]pace{}
	for j, interval := range x {
		p, ok := paces[j.namespace]
		if !ok {
			p.shortest = interval
		}
		paces[j.namespace] = pace{longest: max(p.longest, interval), shortest: min(p.shortest, interval)}
	}
	return paces
}

// pace is how often the jobs of a namespace scrape; the zero value is not known. A job
// whose interval is not known yet has no say while others of its namespace are: its
// pages are Aging at best, so nothing shrinks by what the window leaves out.
type pace struct{ longest, shortest time.Duration }

// window returns the window for peaks, rates and means of the namespace: that of windows
// which spans enough scrapes of its slowest job. It does not depend on other
// namespaces: a job that scrapes rarely delays the readings of its own namespace alone.
func (p pace) window() time.Duration {
	if p.longest == 0 {
		return unknownWindow
	}
	for _, w := range windows() {
		if w >= windowScrapes*p.longest {
			return w
		}
	}
	return windowScrapes * longestInterval
}

// windows returns the windows over which questions are asked, ascending: few, because
// each is a round of questions.
func windows() []time.Duration {
	return []time.Duration{minWindow, 2 * minWindow, 4 * minWindow, windowScrapes * longestInterval}
}

// limits turns the time of a scrape into how long its page may be trusted.
type limits struct {
	least     Limits
	ttl       time.Duration // the most for which an answer may be kept
	intervals intervals
	paces     map[string]pace // of intervals, by namespace
}

// page returns the page that j scraped at the given time. While its interval is
// not known the page is Aging at best: the store is too young to hold two scrapes
// of it, and what it leaves out means nothing.
func (l limits) pageTimes(j job, at float64) pageTimes {
	interval, known := l.intervals[j]
	limit := l.least.For(interval, l.ttl)
	p := pageTimes{at: unixMilli(at)}
	p.agingUntil = p.at + limit.Aging.Milliseconds()
	if known {
		p.freshUntil = p.at + limit.Fresh.Milliseconds()
	}
	return p
}

// grace returns for how long after it became Ready a pod need not have a page, where
// the slowest job scrapes so often: one scrape may be missed, and the answer may be a
// kept one.
func (l limits) grace(slowest time.Duration) time.Duration { return 2*slowest + l.ttl }

// gateway returns the page of an endpoint picker of a namespace, whose own interval
// no query asks for.
func (l limits) gateway(namespace string, at float64) pageTimes {
	limit := l.least.For(l.paces[namespace].longest, l.ttl)
	p := pageTimes{at: unixMilli(at)}
	p.freshUntil, p.agingUntil = p.at+limit.Fresh.Milliseconds(), p.at+limit.Aging.Milliseconds()
	return p
}

// page is when something was scraped and for how long that counts, in
// milliseconds since 1970 on the source's clock. The zero value was never
// scraped.
type pageTimes struct{ at, freshUntil, agingUntil int64 }

// newer folds two pages of one thing, by different jobs: the one counts that
// makes it fresher, at any time.
func (p pageTimes) newer(o pageTimes) pageTimes {
	return pageTimes{max(p.at, o.at), max(p.freshUntil, o.freshUntil), max(p.agingUntil, o.agingUntil)}
}

// state returns how far the page may be trusted at the given instant of the
// source's clock [ms].
func (p pageTimes) state(now int64) scaling.Freshness {
	switch {
	case p == pageTimes{}:
		return scaling.Absent
	case now < p.freshUntil:
		return scaling.Fresh
	case now < p.agingUntil:
		return scaling.Aging
	default:
		return scaling.Stale
	}
}

// lastInstant is the latest time that is taken for one [s since 1970]: in the
// year 8307, before those that cannot be written down.
const lastInstant = 2e11

// instant returns the seconds since 1970 that a source writes as v, or NaN where
// that is no time.
func instant(v float64) float64 {
	if v = measurable(v); v > lastInstant {
		return math.NaN()
	}
	return v
}

// unixMilli returns the seconds since 1970 as the milliseconds in which
// Prometheus counts.
func unixMilli(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

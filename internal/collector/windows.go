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
	// windowScrapes is how many scrapes a window spans, so that a rate survives two missed ones.
	windowScrapes = 4
	// longestInterval limits a scrape interval: to show one at all, two scrapes must lie within the
	// look-back of Prometheus.
	longestInterval = 150 * time.Second
)

// job identifies a scrape job. The name alone is not unique: two namespaces may each configure it.
type job struct{ namespace, name string }

// pagesSeen records which of the fleet's pods have a page, and which jobs scrape them.
type pagesSeen struct {
	pods   podIndex
	at     []float64 // of each pod's page [s since 1970], 0 where there is none
	oldest float64   // of the pages [s since 1970]
	jobs   map[job][]witness
}

// witness is a pod that shows how often a job scrapes, by its name in the source.
type witness struct {
	pod     string
	settled time.Time // when the newest replica of its variant became Ready; zero if unknown
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

// mostWitnesses is how many pods of a job are asked for its scrape interval: two of them may miss
// scrapes without an effect on the median.
const mostWitnesses = 5

// witnesses returns the best of the given witnesses and one more, in order: the oldest first,
// because a young pod does not show an interval yet, then by name.
func witnesses(best []witness, one witness) []witness {
	at, _ := slices.BinarySearchFunc(best, one, witness.compare)
	if at == mostWitnesses {
		return best
	}
	best = slices.Insert(best, at, one)
	return best[:min(len(best), mostWitnesses)]
}

// compare orders witnesses, the better one first.
func (w witness) compare(o witness) int {
	if w.settled.IsZero() != o.settled.IsZero() {
		if w.settled.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(w.settled.Compare(o.settled), strings.Compare(w.pod, o.pod))
}

// sample returns the names of the pods that are asked for scrape intervals. It is empty, which asks
// all, where no pod of the fleet has a page, or the witnesses are too many to name.
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

// aged reports whether the last page of a pod may be older than since: peaks over the window that
// begins then need earlier values.
func (s pagesSeen) aged(since time.Time) bool {
	return s.misses() || !(s.oldest > float64(since.UnixMilli())/1000)
}

// misses reports whether a Ready pod has no page: it is young, or was last scraped before the
// look-back of the answer.
func (s pagesSeen) misses() bool {
	for i, at := range s.at {
		if at == 0 && s.pods.pods[i].Ready {
			return true
		}
	}
	return false
}

// intervals holds how often each job scrapes, where that is known.
type intervals map[job]time.Duration

// readIntervals reads the answer to query.AskScrapeIntervals for the jobs that scrape the fleet.
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

// rounded returns a scrape interval rounded to 1s below 10s, to 5s below a minute, else to 30s. It
// is measured by a count of scrapes, a whole number that varies by one; a window that varies with
// it would make equal load look different.
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

// pace is how often the jobs of a namespace scrape; the zero value means unknown. A job with an
// unknown interval has no effect while others of its namespace are known: its pages are Aging at
// best, so nothing shrinks because of a number that the window misses.
type pace struct{ longest, shortest time.Duration }

// window returns the window for peaks, rates and means of the namespace: the least of windows that
// spans enough scrapes of its slowest job. It does not depend on other namespaces: a job that
// scrapes rarely delays the readings of its own namespace alone.
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

// windows returns the windows over which questions are asked, ascending. They are few, because each
// is a round of questions.
func windows() []time.Duration {
	return []time.Duration{minWindow, 2 * minWindow, 4 * minWindow, windowScrapes * longestInterval}
}

// limits converts the time of a scrape to the times until which its page is Fresh and Aging.
type limits struct {
	least     Limits
	ttl       time.Duration // the longest time for which an answer may be kept
	intervals intervals
	paces     map[string]pace // of intervals, by namespace
}

// pageTimes returns the times of a page that j scraped at the given time. While the interval of j
// is unknown the page is Aging at best: the store is too young to hold two scrapes of it, and a
// number that the page lacks means nothing.
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

// grace returns how long after it became Ready a pod need not have a page, given the interval of
// the slowest job: one scrape may be missed, and the answer may be a kept one.
func (l limits) grace(slowest time.Duration) time.Duration { return 2*slowest + l.ttl }

// gateway returns the times of the page of an endpoint picker in a namespace. No query asks for the
// picker's own interval, so it is that of the slowest job.
func (l limits) gateway(namespace string, at float64) pageTimes {
	limit := l.least.For(l.paces[namespace].longest, l.ttl)
	p := pageTimes{at: unixMilli(at)}
	p.freshUntil, p.agingUntil = p.at+limit.Fresh.Milliseconds(), p.at+limit.Aging.Milliseconds()
	return p
}

// pageTimes is when a page was scraped and until when it is Fresh and Aging, in milliseconds since
// 1970 on the source's clock. The zero value was never scraped.
type pageTimes struct{ at, freshUntil, agingUntil int64 }

// newer folds the times of one page by different jobs: at any instant the fresher counts.
func (p pageTimes) newer(o pageTimes) pageTimes {
	return pageTimes{max(p.at, o.at), max(p.freshUntil, o.freshUntil), max(p.agingUntil, o.agingUntil)}
}

// state returns the freshness of the page at the given instant of the source's clock [ms].
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

// lastInstant is the latest value that counts as a time [s since 1970]: in the year 8307, before
// times that cannot be formatted.
const lastInstant = 2e11

// instant returns v in seconds since 1970, or NaN where it is no time.
func instant(v float64) float64 {
	if v = measurable(v); v > lastInstant {
		return math.NaN()
	}
	return v
}

// unixMilli converts seconds since 1970 to milliseconds, in which Prometheus counts.
func unixMilli(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

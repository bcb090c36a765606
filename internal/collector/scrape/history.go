package scrape

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// series identifies a series within the pages of one target.
type series struct {
	name   string
	labels []label // sorted by name
	key    string  // name and labels
}

// label returns the value of a label, "" when there is none.
func (s series) label(name string) string {
	for _, l := range s.labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// layout is the list of series on a page. Pages of the same engine and model share it.
type layout struct {
	series []series
	byKey  map[string]int
	byName map[string][]int
	weight int // approximate bytes
}

// layouts finds layouts by their content. It is safe for concurrent use.
type layouts struct {
	mu    sync.Mutex
	known map[unique.Handle[string]]*layout
}

// of returns the layout of points, and their values in the order of the layout.
func (l *layouts) of(points []point) (*layout, []float64) {
	id := make([]byte, 0, 128*len(points))
	values, ends := make([]float64, len(points)), make([]int, len(points))
	for i, p := range points {
		id = appendKey(id, p)
		ends[i] = len(id)
		id = append(id, '\n')
		values[i] = p.value
	}
	handle := unique.Make(string(id))
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.known[handle]; ok {
		return known, values
	}
	// The labels of the series and the ID both hold the text; keys are parts of the ID.
	made := &layout{byKey: make(map[string]int, len(points)), byName: map[string][]int{}, weight: 2*len(id) + 200*len(points)}
	keys, begin := handle.Value(), 0
	for i, p := range points {
		s := series{name: p.name, labels: p.labels, key: keys[begin:ends[i]]}
		begin = ends[i] + 1
		made.series = append(made.series, s)
		if _, twice := made.byKey[s.key]; twice {
			continue // the first counts, as it does for Prometheus
		}
		made.byKey[s.key] = i
		made.byName[s.name] = append(made.byName[s.name], i)
	}
	if l.known == nil {
		l.known = map[unique.Handle[string]]*layout{}
	}
	l.known[handle] = made
	return made, values
}

// keep forgets every layout that is not in use.
func (l *layouts) keep(used map[*layout]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for handle, known := range l.known {
		if !used[known] {
			delete(l.known, handle)
		}
	}
}

// appendKey appends a point's name and labels so that no two series share them.
func appendKey(to []byte, p point) []byte {
	to = append(to, p.name...)
	for _, l := range p.labels {
		to = append(append(to, 0xff), l.name...)
		to = append(append(to, 0xfe), l.value...)
	}
	return to
}

// onePage is the result of one scrape.
type onePage struct {
	at     time.Time
	layout *layout
	values []float64 // in the order of the layout
}

// value returns the value of a series, and false when the page lacks it.
func (p onePage) value(s series) (float64, bool) {
	i, ok := p.layout.byKey[s.key]
	if !ok {
		return 0, false
	}
	return p.values[i], true
}

// history is the pages of one target, the oldest first. The zero value is empty.
type history struct {
	pages []onePage
	// failed is when the last scrape failed, zero when it did not: from then on the values are
	// unknown.
	failed time.Time
	cause  error // of the failure
	// failures counts consecutive failed scrapes.
	failures int
	// idleSince is the time since when the pages show no request, and no page is missing that could
	// have shown one; zero before the first page.
	idleSince time.Time
	starting  bool // see Target
	underWay  bool // it is being scraped
	weight    int  // bytes that the store counts for its pages
	// beyond is the budget of the namespace that the last page, or those before it, exceeded, ""
	// for none; halved is when older pages were dropped for that.
	beyond budget.What
	halved time.Time
}

// add appends a page and drops those older than span, but not the newest, which stays to age.
func (h *history) add(p onePage, span time.Duration) {
	if h.beyond != budget.PageBytes || p.at.Sub(h.halved) >= span {
		h.failures = 0 // else this page may be dropped, too
	}
	h.failed, h.cause = time.Time{}, nil
	if h.beyond == budget.Series {
		h.beyond = ""
	}
	h.pages = append(h.pages, p)
	from := p.at.Add(-span)
	old := 0
	for old < len(h.pages)-1 && h.pages[old].at.Before(from) {
		old++
	}
	h.pages = slices.Delete(h.pages, 0, old)
}

// series returns how many series the latest page has.
func (h *history) series() int {
	if n := len(h.pages); n > 0 {
		return len(h.pages[n-1].values)
	}
	return 0
}

// bytes returns the approximate size of the pages. A layout counts once for consecutive pages,
// though other targets may share it.
func (h *history) bytes() int {
	sum := 0
	var before *layout
	for _, p := range h.pages {
		sum += 8 * len(p.values)
		if p.layout != before {
			sum += p.layout.weight
		}
		before = p.layout
	}
	return sum
}

// maxCause limits the text that is kept of a failure, in bytes: it may quote the page.
const maxCause = 512

// fail records that a scrape failed, and why.
func (h *history) fail(at time.Time, cause error) {
	if text := cause.Error(); len(text) > maxCause {
		cause = errors.New(strings.ToValidUTF8(strings.Clone(text[:maxCause]), "") + " ...")
	}
	h.failed, h.cause, h.beyond = at, cause, ""
	h.failures++
}

// due reports whether a target is scraped in a round: in each; after two failures in every second,
// after four in every fourth; while its page is beyond a budget, in the end in every 32nd.
func (h *history) due(round int) bool {
	rarest := 2
	if h.beyond != "" {
		rarest = 5
	}
	return round%(1<<min(h.failures/2, rarest)) == 0
}

// clone returns a copy that later scrapes do not change.
func (h *history) clone() history {
	return history{pages: slices.Clone(h.pages), failed: h.failed, idleSince: h.idleSince}
}

// last returns the newest page at or before at, within its look-back. There is none where the
// scrape after it failed: the target is gone or does not answer.
func (h history) last(at time.Time) (onePage, bool) {
	if !h.failed.IsZero() && !h.failed.After(at) {
		return onePage{}, false
	}
	return h.newest(at, query.ScrapeSpan)
}

// newest returns the newest page at or before at, within lookBack of it, whatever came after.
func (h history) newest(at time.Time, lookBack time.Duration) (onePage, bool) {
	for _, p := range slices.Backward(h.pages) {
		if !p.at.After(at) {
			return p, p.at.After(at.Add(-lookBack))
		}
	}
	return onePage{}, false
}

// within returns the pages after from, up to and including to.
func (h history) within(from, to time.Time) []onePage {
	first, _ := slices.BinarySearchFunc(h.pages, from, func(p onePage, t time.Time) int {
		if p.at.After(t) {
			return 1
		}
		return -1
	})
	end := first
	for end < len(h.pages) && !h.pages[end].at.After(to) {
		end++
	}
	return h.pages[first:end]
}

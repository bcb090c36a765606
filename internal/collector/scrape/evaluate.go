package scrape

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// moment is an instant and the window that ends with it.
type moment struct {
	at     time.Time
	window time.Duration
	aged   bool // see query.Request
}

// identity tells apart the series of one metric that count separate things.
type identity struct {
	model string
	part  string // ranks and the labels of query.Series.By
	bound string // label le
}

// cells are the values of one metric on one target, by identity.
type cells map[identity]float64

// evaluator applies recipes of one engine to the history of one target.
type evaluator struct {
	engine   query.Engine
	prefixes query.Prefixes // of vLLM's metrics
	moment   moment
	pages    history
}

// over returns the function that o names, applied to the samples of one series. It reports false
// where the series has none, or too few.
func (e evaluator) over(o query.Over) func(series) (float64, bool) {
	from := e.moment.at.Add(-e.moment.window)
	inside := e.pages.within(from, e.moment.at)
	switch o {
	case query.Peak:
		return func(s series) (float64, bool) {
			if v, ok := peak(samplesOf(inside, s)); ok || !e.moment.aged {
				return v, ok
			}
			return lastOf(e.pages.within(e.moment.at.Add(-query.ScrapeSpan), e.moment.at), s)
		}
	case query.Rate, query.Mean, query.Buckets:
		return func(s series) (float64, bool) {
			grown, ok := change(samplesOf(inside, s), e.moment.at, e.moment.window, true)
			return grown / e.moment.window.Seconds(), ok
		}
	case query.Growth:
		return func(s series) (float64, bool) {
			grown, ok := change(samplesOf(inside, s), e.moment.at, e.moment.window, false)
			return grown / e.moment.window.Seconds(), ok
		}
	default:
		newest, ok := e.pages.last(e.moment.at)
		return func(s series) (float64, bool) {
			if !ok {
				return 0, false
			}
			return newest.value(s)
		}
	}
}

// lastOf returns the newest value of a series on pages.
func lastOf(pages []onePage, s series) (float64, bool) {
	for _, p := range slices.Backward(pages) {
		if v, ok := p.value(s); ok {
			return v, true
		}
	}
	return 0, false
}

// cells returns the values of a metric: of duplicates the largest, and of its names the first that
// has a value. suffix names the part of a histogram.
func (e evaluator) cells(s query.Series, o query.Over, suffix string) cells {
	value := e.over(o)
	found := cells{}
	for _, name := range s.Names {
		named := cells{}
		for _, candidate := range e.candidates(name + suffix) {
			if !passes(candidate, s) {
				continue
			}
			v, ok := value(candidate)
			if !ok {
				continue
			}
			id := e.identify(candidate, s)
			if old, ok := named[id]; !ok || exceeds(v, old) {
				named[id] = v
			}
		}
		for id, v := range named {
			if _, ok := found[id]; !ok {
				found[id] = v
			}
		}
	}
	return found
}

// exceeds reports whether v replaces old as the largest value. Any number replaces NaN.
func exceeds(v, old float64) bool { return v > old || math.IsNaN(old) }

// candidates returns the series of a name on any page, each once.
func (e evaluator) candidates(name string) []series {
	var out []series
	seen := map[string]bool{}
	var before *layout
	for _, p := range e.pages.pages {
		if p.layout == before {
			continue
		}
		before = p.layout
		for _, i := range p.layout.byName[name] {
			if s := p.layout.series[i]; !seen[s.key] {
				seen[s.key] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// passes reports whether a series has the label values that a recipe requires.
func passes(s series, want query.Series) bool {
	for _, pair := range want.With {
		if name, value, _ := strings.Cut(pair, "="); s.label(name) != value {
			return false
		}
	}
	for _, pair := range want.Without {
		if name, value, _ := strings.Cut(pair, "="); s.label(name) == value {
			return false
		}
	}
	return true
}

// identify returns the identity of a series.
func (e evaluator) identify(s series, spec query.Series) identity {
	var part strings.Builder
	for _, names := range [][]string{e.engine.Ranks(), spec.By} {
		for _, name := range names {
			part.WriteString(s.label(name))
			part.WriteByte(0)
		}
	}
	return identity{model: s.label(query.LabelModel), part: part.String(), bound: s.label(query.LabelBound)}
}

// total identifies a value of a target: its model and bucket.
type total struct {
	model string
	bound string
}

// totals adds up the cells of a recipe's metrics, or takes the worst.
func (e evaluator) totals(r query.Recipe, metrics []query.Series, suffix string) map[total]float64 {
	sums := map[total]float64{}
	for _, metric := range metrics {
		found := e.cells(metric, r.Over, suffix)
		for _, id := range slices.SortedFunc(keys(found), compareIdentity) {
			t, v := total{id.model, id.bound}, found[id]
			old, ok := sums[t]
			switch {
			case !ok:
				sums[t] = v
			case r.Worst:
				if exceeds(v, old) {
					sums[t] = v
				}
			default:
				sums[t] = old + v
			}
		}
	}
	return sums
}

// rows returns the rows of a quantity per pod.
func (e evaluator) rows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	if r.Over == query.Info {
		return e.infoRows(q, r, t)
	}
	if r.Over == query.Fallen {
		return nil // each pod is scraped at an address of its own
	}
	if r.Over == query.Moving {
		return e.movingRows(q, r, t)
	}
	if r.Over == query.Idle {
		return e.idleRows(q, r, t)
	}
	var rows []query.Row
	for id, v := range e.totals(r, r.Of, "") {
		rows = append(rows, query.Row{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Model: id.model, Value: v * r.Factor()})
	}
	return rows
}

// infoRows returns the rows of a quantity that told has read from labels.
func (e evaluator) infoRows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	newest, ok := e.pages.last(e.moment.at)
	if !ok {
		return nil
	}
	for _, metric := range r.Of {
		for _, name := range metric.Names {
			for _, i := range newest.layout.byName[name] {
				return []query.Row{{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Value: newest.values[i]}} // told leaves one series of each name
			}
		}
	}
	return nil
}

// keys returns the keys of a map, in no order.
func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

func compareIdentity(a, b identity) int {
	return cmp.Or(strings.Compare(a.model, b.model), strings.Compare(a.part, b.part), strings.Compare(a.bound, b.bound))
}

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

// edge is the upper bound of a bucket.
type edge struct {
	ms   float64
	text string // as the source has it
}

// layout lists the buckets of a model's histograms, each list sorted.
type layout struct{ ttft, itl, requestITL []edge }

const (
	// wholeAgain is the least time between two questions for all buckets, asked because the layouts
	// of some models are unknown. Those have no histogram until then; such a question costs a store
	// several times as much.
	wholeAgain = 5 * time.Minute
	// mostEdges is the largest number of bounds that a question names: with more, it asks for all.
	mostEdges = 64
)

// around returns the texts of the bounds on both sides of an objective [ms]; the upper one may be
// the objective itself. None without an objective.
func around(edges []edge, ms float64) []string {
	if ms <= 0 {
		return nil
	}
	at, _ := slices.BinarySearchFunc(edges, ms, func(e edge, ms float64) int { return cmp.Compare(e.ms, ms) })
	var out []string
	for i, e := range edges {
		// Several texts may stand for one bound.
		if at > 0 && e.ms == edges[at-1].ms || at < len(edges) && e.ms == edges[at].ms || i == at {
			out = append(out, e.text)
		}
	}
	return out
}

// around returns the texts of the bounds around an objective, in all histograms.
func (l *layout) around(o scaling.Objective) []string {
	if l == nil {
		return nil
	}
	return slices.Concat(around(l.ttft, o.TTFT), around(l.itl, o.ITL), around(l.requestITL, o.ITL))
}

// complete reports whether the histograms of a model, as far as it has any, have the buckets around
// its objective.
func (l *layout) complete(s *modelAnswer, o scaling.Objective) bool {
	if l == nil {
		l = &layout{}
	}
	return whole(s.ttft, l.ttft, o.TTFT) && whole(s.itl, l.itl, o.ITL) && whole(s.requestITL, l.requestITL, o.ITL)
}

// whole reports whether a histogram has its buckets around an objective; true for an absent one.
func whole(h scaling.Histogram, edges []edge, ms float64) bool {
	if h.State == scaling.Absent || ms <= 0 {
		return true
	}
	near := around(edges, ms)
	for _, e := range edges {
		if slices.Contains(near, e.text) && !slices.ContainsFunc(h.Buckets, func(b scaling.Bucket) bool { return b.Bound == e.ms }) {
			return false
		}
	}
	return len(near) > 0
}

// sorted returns l in order, each bound once.
func (l layout) sorted() layout {
	for _, edges := range []*[]edge{&l.ttft, &l.itl, &l.requestITL} {
		slices.SortFunc(*edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.text, b.text)) })
		*edges = slices.Compact(*edges)
	}
	return l
}

// equal reports whether two layouts, both sorted, are the same.
func (l layout) equal(o layout) bool {
	return slices.Equal(l.ttft, o.ttft) && slices.Equal(l.itl, o.itl) && slices.Equal(l.requestITL, o.requestITL)
}

// edges returns the bounds to ask for: those around the objectives of the models. It returns none,
// which asks for all, where a layout is unknown and all were not asked for lately, where the bounds
// are too many, or where the source does not write them.
func (c *Collector) edges(models []scaling.ModelKey) []string {
	if c.opts.Objective == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, m := range models {
		l := c.layouts[m]
		if l == nil && c.clock.Since(c.whole) >= wholeAgain {
			return nil
		}
		all = append(all, l.around(c.opts.Objective(m))...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > mostEdges || slices.Contains(all, "") {
		return nil
	}
	return all
}

// learn takes over the layouts of the models from an answer with all buckets. In an answer with the
// asked buckets it drops the histograms of models that lack some: their engines have other buckets
// than before.
func (c *Collector) learn(models []scaling.ModelKey, b builders, rows []query.Row, asked []string) {
	if c.opts.Objective == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(asked) > 0 {
		for _, m := range models {
			if s := b[m].measurement; !c.layouts[m].complete(s, c.opts.Objective(m)) {
				s.ttft, s.itl, s.requestITL = scaling.Histogram{}, scaling.Histogram{}, scaling.Histogram{}
				delete(c.layouts, m)
			}
		}
		return
	}
	c.whole = c.clock.Now()
	learned := map[scaling.ModelKey]*layout{}
	for _, m := range models {
		learned[m] = &layout{}
	}
	for i := range rows {
		row := &rows[i]
		l := learned[scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}]
		if l == nil || math.IsNaN(measurable(row.Bound)) {
			continue
		}
		switch e := (edge{row.Bound, strings.Clone(row.Edge)}); row.Quantity {
		case query.TTFTBuckets:
			l.ttft = append(l.ttft, e)
		case query.ITLBuckets:
			l.itl = append(l.itl, e)
		case query.RequestITLBuckets:
			l.requestITL = append(l.requestITL, e)
		default:
			// No histogram.
		}
	}
	shared := &layout{} // most models have the layout of another
	for _, m := range models {
		if l := learned[m].sorted(); !l.equal(*shared) {
			shared = &l
		}
		c.layouts[m] = shared
	}
}

package scrape

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// view is the content of the store at one moment. It does not change.
type view struct {
	job      string
	interval time.Duration
	prefixes query.Prefixes // of vLLM's metrics
	pods     []scraped      // sorted by target
	pickers  []scraped
	// models holds the model of each pod where the pickers report for the pods, which are not
	// scraped themselves; nil elsewhere.
	models map[podKey]string
	// gone is when ended pods last showed a request, by model.
	gone map[modelKey]time.Time
}

// podKey identifies a pod.
type podKey struct{ namespace, pod string }

// scraped is a target and its pages.
type scraped struct {
	target  Target
	history history
}

func (v view) sort() {
	for _, list := range [][]scraped{v.pods, v.pickers} {
		slices.SortFunc(list, func(a, b scraped) int { return compareTargets(a.target, b.target) })
	}
}

// compareTargets orders targets by namespace, pod and URL.
func compareTargets(a, b Target) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.URL, b.URL))
}

// answer returns the rows of a request, as PromQL would return them.
func (v view) answer(r query.Request, m moment) []query.Row {
	v = v.restrict(r)
	var rows []query.Row
	switch r.Ask {
	case query.AskPages:
		rows = v.pageTimes(m, func(h history) (onePage, bool) { return h.last(m.at) })
	case query.AskEarlierPages:
		rows = v.pageTimes(m, func(h history) (onePage, bool) { return h.newest(m.at, earlierSpan) })
	case query.AskScrapeIntervals:
		rows = v.intervals(m)
	case query.AskGateway:
		rows = v.gatewayRows(m)
	case query.AskRecent:
		rows = v.idleRows(m, r.Span)
		if len(r.Models) > 0 {
			rows = slices.DeleteFunc(rows, func(row query.Row) bool { return !slices.Contains(r.Models, row.Model) })
		}
	case query.AskObjective, query.AskPace:
		rows = v.ofModels(r.Ask.Quantities(), r.Models, m)
	default:
		for _, q := range r.Ask.Quantities() {
			rows = append(rows, v.rows(q, m)...)
		}
	}
	return rows
}

// restrict returns v with the targets of a request alone.
func (v view) restrict(r query.Request) view {
	if len(r.Namespaces) > 0 {
		foreign := func(s scraped) bool { return !slices.Contains(r.Namespaces, s.target.Namespace) }
		v.pods = slices.DeleteFunc(slices.Clone(v.pods), foreign)
		v.pickers = slices.DeleteFunc(slices.Clone(v.pickers), foreign)
	}
	if len(r.Pods) > 0 && (r.Ask == query.AskScrapeIntervals || r.Ask == query.AskStuck) {
		v.pods = slices.DeleteFunc(slices.Clone(v.pods), func(s scraped) bool { return !slices.Contains(r.Pods, s.target.Pod) })
	}
	return v
}

// pageTimes returns when each target that shows an engine's witness was scraped.
func (v view) pageTimes(m moment, of func(history) (onePage, bool)) []query.Row {
	var rows []query.Row
	if v.models != nil {
		rows = v.poolTimes(m, of)
	}
	for _, t := range v.pods {
		p, ok := of(t.history)
		if !ok {
			continue
		}
		for _, engine := range query.Engines() {
			for _, witness := range engine.Witnesses(v.prefixes) {
				for _, model := range models(p, []string{witness}) {
					rows = append(rows, query.Row{
						Quantity: query.PageTime, Namespace: t.target.Namespace, Pod: t.target.Pod, Model: model, Witness: witness,
						Job: v.job, Value: unixSeconds(p.at),
					})
				}
			}
		}
	}
	return rows
}

// models returns the models that the witnesses on a page name.
func models(p onePage, witnesses []string) []string {
	var names []string
	for _, witness := range witnesses {
		for _, i := range p.layout.byName[witness] {
			names = append(names, p.layout.series[i].label(query.LabelModel))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settled is how long a target must have been scraped for its interval to count: PromQL, too, has
// no interval of a series that is younger.
const settled = 30 * time.Second

// intervals returns the configured interval for each namespace in which a target was scraped for
// long enough.
func (v view) intervals(m moment) []query.Row {
	old := map[string]bool{}
	for _, t := range append(slices.Clone(v.pods), v.pickers...) {
		if pages := t.history.within(m.at.Add(-query.ScrapeSpan), m.at); len(pages) > 1 && !pages[0].at.After(m.at.Add(-settled)) {
			old[t.target.Namespace] = true
		}
	}
	rows := make([]query.Row, 0, len(old))
	for _, namespace := range slices.Sorted(keys(old)) {
		rows = append(rows, query.Row{Quantity: query.ScrapeInterval, Namespace: namespace, Job: v.job, Value: v.interval.Seconds()})
	}
	return rows
}

// rows returns the rows of a quantity that has recipes.
func (v view) rows(q query.Quantity, m moment) []query.Row {
	var rows []query.Row
	if q.Scope() == query.PerModel {
		rows = v.modelRows(q, m)
	} else {
		rows = v.podRows(q, m)
	}
	if v.models != nil {
		rows = append(rows, v.poolRows(q, m)...)
	}
	return rows
}

// podRows returns the rows of a quantity per pod.
func (v view) podRows(q query.Quantity, m moment) []query.Row {
	var rows []query.Row
	for _, engine := range query.Engines() {
		r, ok := query.RecipeOf(engine, q, v.prefixes)
		if !ok {
			continue
		}
		for _, t := range v.pods {
			e := evaluator{engine: engine, prefixes: v.prefixes, moment: m, pages: t.history}
			rows = append(rows, e.rows(q, r, t.target)...)
		}
	}
	return rows
}

// modelKey identifies a model as the pages name it, and a bucket of a histogram.
type modelKey struct{ namespace, model, bound string }

// modelRows returns the rows of a quantity per model: the counts of the engines add up, and a mean
// is over all.
func (v view) modelRows(q query.Quantity, m moment) []query.Row {
	sums, counts := map[modelKey]float64{}, map[modelKey]float64{}
	var recipe query.Recipe // engines differ in series alone
	for _, engine := range query.Engines() {
		r, ok := query.RecipeOf(engine, q, v.prefixes)
		if !ok {
			continue
		}
		recipe = r
		v.add(sums, engine, r, r.Of, m)
		if r.Over == query.Mean {
			v.add(counts, engine, r, []query.Series{r.Per}, m)
		}
	}
	rows := make([]query.Row, 0, len(sums))
	for _, k := range slices.SortedFunc(keys(sums), compareModel) {
		row := query.Row{Quantity: q, Namespace: k.namespace, Model: k.model, Value: sums[k] * recipe.Factor()}
		if recipe.Over == query.Mean {
			if !(counts[k] > 0) {
				continue // nothing to take a mean of
			}
			row.Value /= counts[k]
		}
		if recipe.Over == query.Buckets {
			bound, err := strconv.ParseFloat(k.bound, 64)
			if err != nil || math.IsNaN(bound) {
				continue
			}
			row.Bound, row.Edge = bound*1000, k.bound // seconds on a page, milliseconds here
		}
		rows = append(rows, row)
	}
	return rows
}

// add adds up metrics over the pods of each model.
func (v view) add(sums map[modelKey]float64, engine query.Engine, r query.Recipe, metrics []query.Series, m moment) {
	suffix := ""
	if r.Over == query.Buckets {
		suffix = "_bucket"
	}
	for _, t := range v.pods {
		e := evaluator{engine: engine, prefixes: v.prefixes, moment: m, pages: t.history}
		for id, value := range e.totals(r, metrics, suffix) {
			sums[modelKey{t.target.Namespace, id.model, id.bound}] += value
		}
	}
}

// ofModels returns the rows of quantities for the given models, for all where none is named.
func (v view) ofModels(quantities []query.Quantity, names []string, m moment) []query.Row {
	var rows []query.Row
	for _, q := range quantities {
		for _, row := range v.rows(q, m) {
			if len(names) == 0 || slices.Contains(names, row.Model) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func compareModel(a, b modelKey) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.model, b.model), strings.Compare(a.bound, b.bound))
}

// unixSeconds writes an instant as PromQL does, in whole milliseconds.
func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

package scrape

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// movingRows returns a row for each model of a target of which a series changed
// its value within the span of quiet.
func (e evaluator) movingRows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	inside := e.pages.within(e.moment.at.Add(-query.QuietSpan(e.moment.window)), e.moment.at)
	var rows []query.Row
	for _, model := range e.modelsOf(inside) {
		if e.stirs(inside, r.Of, model) {
			rows = append(rows, query.Row{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Model: model, Value: 1})
		}
	}
	return rows
}

// idleRows returns a row for each model of a target that holds requests while
// nothing moves, as query.Recipe defines Idle.
func (e evaluator) idleRows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	span := query.QuietSpan(e.moment.window)
	from := e.moment.at.Add(-span)
	before, ok := e.pages.newest(from, query.ScrapeSpan)
	if !ok {
		return nil
	}
	last := query.Recipe{Over: query.Last}
	held, values := e.totals(last, r.Holds, ""), e.totals(last, r.Of, "")
	inside := e.pages.within(from, e.moment.at)
	var rows []query.Row
	for k, value := range values {
		if held[k] <= 0 || !holding(before, r.Holds, k.model) || e.witnessed(inside, k.model) < r.Scrapes || e.stirs(inside, r.Still, k.model) {
			continue
		}
		rows = append(rows, query.Row{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Model: k.model, Value: value})
	}
	return rows
}

// holding reports whether one of metrics was above 0 for a model on a page.
func holding(p page, metrics []query.Series, model string) bool {
	for _, metric := range metrics {
		for _, name := range metric.Names {
			for _, i := range p.layout.byName[name] {
				if s := p.layout.series[i]; s.label(query.LabelModel) == model && passes(s, metric) && p.values[i] > 0 {
					return true
				}
			}
		}
	}
	return false
}

// witnessed counts the pages that carry the engine's witness for a model.
func (e evaluator) witnessed(pages []page, model string) int {
	n := 0
	for _, p := range pages {
		if slices.ContainsFunc(p.layout.byName[e.engine.Witness()], func(i int) bool {
			return p.layout.series[i].label(query.LabelModel) == model
		}) {
			n++
		}
	}
	return n
}

// modelsOf returns the models that the engine's witness names on any of the pages.
func (e evaluator) modelsOf(pages []page) []string {
	var names []string
	var before *layout
	for _, p := range pages {
		if p.layout != before {
			names, before = append(names, models(p, e.engine)...), p.layout
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stirs reports whether a series of a model changed its value on pages.
func (e evaluator) stirs(pages []page, metrics []query.Series, model string) bool {
	for _, metric := range metrics {
		for _, name := range metric.Names {
			for _, s := range e.candidates(name) {
				if s.label(query.LabelModel) == model && passes(s, metric) && moved(samplesOf(pages, s)) {
					return true
				}
			}
		}
	}
	return false
}

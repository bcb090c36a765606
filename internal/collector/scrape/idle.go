package scrape

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// movingRows returns a row for each model of a target with a series that changed its value within
// the StuckSpan.
func (e evaluator) movingRows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	inside := e.pages.within(e.moment.at.Add(-query.StuckSpan(e.moment.window)), e.moment.at)
	moving := e.moving(inside, r.Of)
	var rows []query.Row
	for _, model := range e.modelsOf(inside) {
		if moving[model] {
			rows = append(rows, query.Row{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Model: model, Value: 1})
		}
	}
	return rows
}

// idleRows returns a row for each model of a target that holds requests while
// nothing moves, as query.Recipe defines Idle.
func (e evaluator) idleRows(q query.Quantity, r query.Recipe, t Target) []query.Row {
	span := query.StuckSpan(e.moment.window)
	from := e.moment.at.Add(-span)
	before, ok := e.pages.newest(from, query.ScrapeSpan)
	if !ok {
		return nil
	}
	last := query.Recipe{Over: query.Last}
	held, values := e.totals(last, r.Holds, ""), e.totals(last, r.Of, "")
	inside := e.pages.within(from, e.moment.at)
	heldBefore, witnessed, moving := holding(before, r.Holds), e.witnessed(inside), e.moving(inside, r.Still)
	var rows []query.Row
	for k, value := range values {
		if held[k] <= 0 || !heldBefore[k.model] || witnessed[k.model] < r.Scrapes || moving[k.model] {
			continue
		}
		rows = append(rows, query.Row{Quantity: q, Namespace: t.Namespace, Pod: t.Pod, Model: k.model, Value: value})
	}
	return rows
}

// holding returns the models with one of metrics above 0 on a page.
func holding(p onePage, metrics []query.Series) map[string]bool {
	models := map[string]bool{}
	for _, metric := range metrics {
		for _, name := range metric.Names {
			for _, i := range p.layout.byName[name] {
				if s := p.layout.series[i]; p.values[i] > 0 && passes(s, metric) {
					models[s.label(query.LabelModel)] = true
				}
			}
		}
	}
	return models
}

// witnessed counts the pages that carry the engine's witness, by model.
func (e evaluator) witnessed(pages []onePage) map[string]int {
	counts := map[string]int{}
	witnesses := e.engine.Witnesses(e.prefixes)
	for _, p := range pages {
		for _, model := range models(p, witnesses) {
			counts[model]++
		}
	}
	return counts
}

// modelsOf returns the models that the engine's witness names on any of the pages.
func (e evaluator) modelsOf(pages []onePage) []string {
	var names []string
	var before *layout
	for _, p := range pages {
		if p.layout != before {
			names, before = append(names, models(p, e.engine.Witnesses(e.prefixes))...), p.layout
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// moving returns the models with a series that changed its value on pages. It examines each series
// once: a page may hold thousands of models.
func (e evaluator) moving(pages []onePage, metrics []query.Series) map[string]bool {
	models := map[string]bool{}
	for _, metric := range metrics {
		for _, name := range metric.Names {
			for _, s := range e.candidates(name) {
				if model := s.label(query.LabelModel); !models[model] && passes(s, metric) && moved(samplesOf(pages, s)) {
					models[model] = true
				}
			}
		}
	}
	return models
}

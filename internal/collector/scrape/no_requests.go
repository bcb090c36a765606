package scrape

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// signs are the series of a page that show a request: by a value above 0, or by a change.
type signs struct{ holds, still []query.Series }

// podSigns returns the signs of serving pods, of every engine: query.NoRequestSince.
func podSigns(prefixes query.Prefixes) signs {
	var s signs
	for _, engine := range query.Engines() {
		if r, ok := query.RecipeOf(engine, query.NoRequestSince, prefixes); ok {
			s.holds, s.still = append(s.holds, r.Holds...), append(s.still, r.Still...)
		}
	}
	return s
}

// pickerSigns returns the signs of endpoint pickers, for the pods for which they report.
func pickerSigns() signs {
	names := query.Gateway()
	return signs{
		holds: []query.Series{{Names: names.Queue}, perPodQueue(), meanRunning()},
		still: []query.Series{{Names: names.Requests}, {Names: names.Errors}},
	}
}

// on reports whether a page shows a request that may be new since the page before. A new series of
// still counts as a change if it is not 0.
func (s signs) on(p, before onePage) bool {
	shows := func(list []query.Series, sign func(at series, value float64) bool) bool {
		for _, metric := range list {
			for _, name := range metric.Names {
				for _, i := range p.layout.byName[name] {
					if at := p.layout.series[i]; passes(at, metric) && sign(at, p.values[i]) {
						return true
					}
				}
			}
		}
		return false
	}
	return shows(s.holds, func(_ series, value float64) bool { return value > 0 }) ||
		shows(s.still, func(at series, value float64) bool {
			was, _ := before.value(at)
			return value != was
		})
}

// longestGap returns the longest time between two pages that hides no request: the window over
// which the collector asks for rates.
func (s *store) longestGap() time.Duration {
	const scrapesOfWindow = 4
	return max(time.Minute, scrapesOfWindow*s.interval)
}

// idleRows returns since when each model shows no request, as far as its pages were watched: the
// latest time of its pods, ended ones included.
func (v view) idleRows(m moment, span time.Duration) []query.Row {
	since := map[modelKey]time.Time{}
	note := func(k modelKey, at time.Time) {
		if at.After(since[k]) {
			since[k] = at
		}
	}
	for _, t := range v.pods {
		if p, ok := t.history.last(m.at); ok {
			for _, engine := range query.Engines() {
				for _, model := range models(p, engine.Witnesses(v.prefixes)) {
					note(modelKey{namespace: t.target.Namespace, model: model}, t.history.idleSince)
				}
			}
		}
	}
	for pod, model := range v.models { // pickers report for them
		for _, t := range v.pickers {
			if t.target.Namespace == pod.namespace && !t.history.idleSince.IsZero() {
				note(modelKey{namespace: pod.namespace, model: model}, t.history.idleSince)
			}
		}
	}
	for k, at := range v.gone {
		if _, there := since[k]; there {
			note(k, at)
		}
	}
	rows := make([]query.Row, 0, len(since))
	for _, k := range slices.SortedFunc(maps.Keys(since), compareModel) {
		at := since[k]
		if from := m.at.Add(-span); at.Before(from) {
			at = from
		}
		rows = append(rows, query.Row{Quantity: query.NoRequestSince, Namespace: k.namespace, Model: k.model, Value: unixSeconds(at)})
	}
	return rows
}

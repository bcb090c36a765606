package scrape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// gatewayRows returns the numbers of the endpoint pickers: when one with flow control was scraped
// last, the requests that they hold, and those that arrive.
func (v view) gatewayRows(m moment) []query.Row {
	names := query.Gateway()
	rows := v.gatewaySeen(m, append(slices.Clone(names.Dispatch), names.Queue...))
	queue, arrivals := map[modelKey]float64{}, map[modelKey]float64{}
	for _, t := range v.pickers {
		p := picker{evaluator{moment: m, pages: t.history}, t.target.Namespace}
		p.add(queue, query.Last, query.Series{Names: names.Queue})
		p.add(arrivals, query.Rate, query.Series{Names: names.Requests})
		for _, code := range names.Refusals {
			p.add(arrivals, query.Rate, query.Series{Names: names.Errors, With: []string{query.LabelErrorCode + "=" + code}})
		}
		p.add(arrivals, query.Growth, query.Series{Names: names.Queue})
	}
	rows = append(rows, modelRowsOf(query.GatewayQueue, queue)...)
	return append(rows, modelRowsOf(query.GatewayArrivals, arrivals)...)
}

// modelRowsOf returns a row for each model, sorted.
func modelRowsOf(q query.Quantity, sums map[modelKey]float64) []query.Row {
	rows := make([]query.Row, 0, len(sums))
	for _, k := range slices.SortedFunc(keys(sums), compareModel) {
		rows = append(rows, query.Row{Quantity: q, Namespace: k.namespace, Model: k.model, Value: sums[k]})
	}
	return rows
}

// gatewaySeen returns when a picker that shows one of the names was scraped last, by namespace.
func (v view) gatewaySeen(m moment, names []string) []query.Row {
	latest := map[string]float64{}
	for _, t := range v.pickers {
		p, ok := t.history.newest(m.at, earlierSpan)
		if ok && slices.ContainsFunc(names, func(name string) bool { return len(p.layout.byName[name]) > 0 }) {
			latest[t.target.Namespace] = max(latest[t.target.Namespace], unixSeconds(p.at))
		}
	}
	rows := make([]query.Row, 0, len(latest))
	for _, namespace := range slices.Sorted(keys(latest)) {
		rows = append(rows, query.Row{Quantity: query.GatewaySeen, Namespace: namespace, Value: latest[namespace]})
	}
	return rows
}

// picker evaluates the page of one endpoint picker.
type picker struct {
	evaluator
	namespace string
}

// add adds a metric of the picker to sums, by model. Of the metric's names the first that the
// picker has counts.
func (p picker) add(sums map[modelKey]float64, over query.Over, metric query.Series) {
	value := p.over(over)
	for _, name := range metric.Names {
		folded := map[string]float64{} // by gatewayIdentity
		models := map[string]string{}
		for _, s := range p.candidates(name) {
			if !passes(s, metric) {
				continue
			}
			v, ok := value(s)
			if !ok {
				continue
			}
			id := gatewayIdentity(s)
			if old, ok := folded[id]; !ok || exceeds(v, old) {
				folded[id] = v
			}
			models[id] = cmp.Or(s.label(query.LabelTargetModel), s.label(query.LabelModel))
		}
		for _, id := range slices.Sorted(keys(folded)) {
			sums[modelKey{namespace: p.namespace, model: models[id]}] += folded[id]
		}
		if len(folded) > 0 {
			return
		}
	}
}

// gatewayIdentity joins the labels whose values count separate things.
func gatewayIdentity(s series) string {
	var id strings.Builder
	for _, name := range append(query.Gateway().Identity, query.LabelErrorCode) {
		id.WriteString(s.label(name))
		id.WriteByte(0)
	}
	return id.String()
}

package collector

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// builder makes the sheet of one model.
type builder struct {
	sheet *sheet
	index map[string]int // of pods by name
}

// pod returns the row of a pod, which is new at its first mention.
func (b *builder) pod(name string) *podRow {
	i, ok := b.index[name]
	if !ok {
		i = len(b.sheet.pods)
		b.sheet.pods = append(b.sheet.pods, newPodRow(name))
		b.index[b.sheet.pods[i].name] = i
	}
	return &b.sheet.pods[i]
}

// builders holds the builder of every model of the fleet.
type builders map[scaling.ModelKey]*builder

// of returns the builder of the model that a row names, nil for a model of
// nobody.
func (b builders) of(row *query.Row) *builder {
	return b[scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}]
}

// buildSheets returns a sheet for every model of the fleet.
func buildSheets(s *survey, fleet scaling.Fleet, pods podIndex, limits limits, percentiles []scaling.ModelKey, got *answers) map[scaling.ModelKey]*sheet {
	all := builders{}
	for _, v := range fleet.Variants {
		if all[v.Model] == nil {
			all[v.Model] = &builder{
				sheet: &sheet{survey: s, flows: newFlows()},
				index: make(map[string]int, len(pods.byModel[v.Model])),
			}
		}
	}
	pages := slices.Concat(got[query.AskPages].Rows, got[query.AskEarlierPages].Rows)
	all.readPages(pages, limits)
	all.readGauges(got)
	all.readCapacities(got[query.AskKVCapacity].Rows)
	all.readStuck(got)
	all.readFlows(got)
	all.readBuckets(got[query.AskBuckets].Rows, percentiles)
	all.readPickers(got[query.AskGateway].Rows, limits)
	explainAbsence(all, pods, pages)
	sheets := make(map[scaling.ModelKey]*sheet, len(all))
	for model, b := range all {
		b.sheet.finish()
		sheets[model] = b.sheet
	}
	return sheets
}

// finish sorts the pods and gives back what they do not need.
func (s *sheet) finish() {
	slices.SortFunc(s.pods, func(a, b podRow) int { return cmp.Compare(a.name, b.name) })
	s.pods = slices.Clip(slices.Clone(s.pods))
	s.ranked = slices.ContainsFunc(s.pods, func(p podRow) bool { return strings.Contains(p.name, rankMark) })
}

// readPages takes over when each pod was scraped.
func (b builders) readPages(rows []query.Row, limits limits) {
	for i := range rows {
		row := &rows[i]
		if model := b.of(row); model != nil && !math.IsNaN(instant(row.Value)) {
			pod := model.pod(row.Pod)
			pod.page = pod.page.newer(limits.page(job{row.Namespace, row.Job}, row.Value))
		}
	}
}

// readGauges takes over the numbers of the pods. Rows that say the same are
// duplicates: the largest counts.
func (b builders) readGauges(got *answers) {
	for _, ask := range secondRound() {
		for i := range got[ask].Rows {
			row := &got[ask].Rows[i]
			if row.Quantity < firstGauge || row.Quantity >= firstGauge+gauges {
				continue
			}
			if model := b.of(row); model != nil {
				value := model.pod(row.Pod).gauge(row.Quantity)
				*value = larger(*value, measurable(row.Value))
			}
		}
	}
}

// readCapacities takes over the sizes of the KV caches that no model stands at:
// a pod's name is all that joins them.
func (b builders) readCapacities(rows []query.Row) {
	sizes := map[podKey]float64{}
	for _, row := range rows {
		if row.Model == "" {
			key := podKey{row.Namespace, row.Pod}
			if before, ok := sizes[key]; ok {
				row.Value = larger(before, measurable(row.Value))
			}
			sizes[key] = measurable(row.Value)
		}
	}
	if len(sizes) == 0 {
		return
	}
	for model, one := range b {
		for i := range one.sheet.pods {
			pod := &one.sheet.pods[i]
			if size, ok := sizes[podKey{model.Namespace, pod.name}]; ok {
				value := pod.gauge(query.KVCapacity)
				*value = larger(*value, size)
			}
		}
	}
}

// readStuck takes over which pods are quiet, and which of them are stuck.
func (b builders) readStuck(got *answers) {
	for _, row := range got[query.AskQuiet].Rows {
		if model := b.of(&row); model != nil {
			pod := model.pod(row.Pod)
			pod.held = larger(pod.held, larger(measurable(row.Value), 0))
		}
	}
	for _, row := range got[query.AskStuck].Rows {
		if model := b.of(&row); model != nil {
			how := frozen
			if row.Value > 0 {
				how = sick
			}
			pod := model.pod(row.Pod)
			pod.stuck = max(pod.stuck, how)
		}
	}
}

// readFlows takes over the rates and means of the models. The growth of what is
// in flight may be negative; where it is no number it is as good as missing.
func (b builders) readFlows(got *answers) {
	for _, row := range slices.Concat(got[query.AskFlow].Rows, got[query.AskMeans].Rows) {
		model := b.of(&row)
		if model == nil || row.Quantity < firstFlow || row.Quantity >= firstFlow+flowCount {
			continue
		}
		v := row.Value
		switch {
		case row.Quantity == query.InFlightGrowth && math.IsInf(v, 0):
			v = math.NaN()
		case row.Quantity != query.InFlightGrowth && math.IsNaN(measurable(v)):
			v = garbage
		}
		value := model.sheet.flows.of(row.Quantity)
		*value = larger(*value, v)
	}
}

// readBuckets takes over the histograms of the models that they were asked for.
func (b builders) readBuckets(rows []query.Row, models []scaling.ModelKey) {
	for _, model := range models {
		b[model].sheet.percentiles = true
	}
	for _, row := range rows {
		model := b.of(&row)
		if model == nil || !model.sheet.percentiles || math.IsNaN(measurable(row.Value)) {
			continue
		}
		h := &model.sheet.ttft
		if row.Quantity == query.ITLBuckets {
			h = &model.sheet.itl
		}
		if math.IsInf(row.Bound, 1) {
			h.Total = max(h.Total, row.Value)
			h.State = scaling.Fresh // it has a total
			continue
		}
		if !math.IsNaN(measurable(row.Bound)) {
			h.Buckets = append(h.Buckets, scaling.Bucket{Bound: row.Bound, Rate: row.Value})
		}
	}
	for _, model := range models {
		b[model].sheet.ttft = folded(b[model].sheet.ttft)
		b[model].sheet.itl = folded(b[model].sheet.itl)
	}
}

// folded returns a histogram as it is kept: sorted, without duplicates, and
// empty if it lacks the bucket that counts everything.
func folded(h scaling.Histogram) scaling.Histogram {
	if h.State == scaling.Absent {
		return scaling.Histogram{}
	}
	slices.SortFunc(h.Buckets, func(a, b scaling.Bucket) int {
		return cmp.Or(cmp.Compare(a.Bound, b.Bound), cmp.Compare(b.Rate, a.Rate))
	})
	h.Buckets = slices.CompactFunc(h.Buckets, func(a, b scaling.Bucket) bool { return a.Bound == b.Bound })
	h.Buckets = slices.Clip(slices.Clone(h.Buckets))
	return h
}

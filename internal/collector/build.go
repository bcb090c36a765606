package collector

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// builder makes the answer of one model.
type builder struct {
	measurement *modelAnswer
	index       map[string]int // of pods by name
}

// pod returns the row of a pod, and adds it at its first mention.
func (b *builder) pod(name string) *podRow {
	i, ok := b.index[name]
	if !ok {
		i = len(b.measurement.pods)
		b.measurement.pods = append(b.measurement.pods, newPodRow(name))
		b.index[b.measurement.pods[i].name] = i
	}
	return &b.measurement.pods[i]
}

// builders holds the builder of every model of the fleet.
type builders map[scaling.ModelKey]*builder

// of returns the builder of the model that a row names, nil for a model
// without a variant.
func (b builders) of(row *query.Row) *builder {
	return b[scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}]
}

// newBuilders returns a builder for every model of the fleet, with the survey of its namespace.
func newBuilders(surveys map[string]*survey, fleet scaling.Fleet, pods podIndex) builders {
	all := builders{}
	for _, v := range fleet.Variants {
		if all[v.Model] == nil {
			all[v.Model] = &builder{
				measurement: &modelAnswer{survey: surveys[v.Model.Namespace], flows: newFlows()},
				index:       make(map[string]int, len(pods.byModel[v.Model])),
			}
		}
	}
	return all
}

// read takes over the answers to all questions but query.AskScrapeIntervals and query.AskStuck.
func (b builders) read(got *answers, limits limits, percentiles []scaling.ModelKey) {
	b.readPages(got.pages(), limits)
	b.readNames(got[query.AskPages].Rows)
	b.readGauges(got)
	b.readCapacities(got[query.AskKVCapacity].Rows)
	b.readHeld(got)
	b.readShared(got[query.AskGenerating].Rows)
	b.readFlows(got)
	b.readBuckets(got[query.AskObjective].Rows, percentiles)
	b.readPickers(got[query.AskGateway].Rows, limits)
}

// pages returns the rows about pages, recent and earlier ones.
func (a *answers) pages() []query.Row {
	return slices.Concat(a[query.AskPages].Rows, a[query.AskEarlierPages].Rows)
}

// finish returns the model answers, which do not change from then on.
func (b builders) finish(pods podIndex, got *answers) map[scaling.ModelKey]*modelAnswer {
	explainAbsence(b, pods, got.pages())
	sheets := make(map[scaling.ModelKey]*modelAnswer, len(b))
	for model, one := range b {
		one.measurement.finish()
		sheets[model] = one.measurement
	}
	return sheets
}

// finish sorts the pods, frees spare memory, and notes whether pods have ranks.
func (s *modelAnswer) finish() {
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
			pod.page = pod.page.newer(limits.pageTimes(job{row.Namespace, row.Job}, row.Value))
		}
	}
}

// readNames finds the pods that one job names in the label pod and another in pod_name. Such a pod
// is one by its name, but two to the source, which counts it twice in the rates of a model.
func (b builders) readNames(rows []query.Row) {
	for i := range rows {
		row := &rows[i]
		model := b.of(row)
		if model == nil {
			continue
		}
		pod, by := model.pod(row.Pod), byPod
		if row.ByPodName {
			by = byPodName
		}
		pod.labels |= by
		if pod.labels == byPod|byPodName && (model.measurement.twofold == "" || pod.name < model.measurement.twofold) {
			model.measurement.twofold = pod.name
		}
	}
}

// readGauges takes over the numbers of the pods. Of duplicate rows the largest counts.
func (b builders) readGauges(got *answers) {
	for _, ask := range append(mainRound(), query.AskPace) {
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

// readCapacities takes over the sizes of the KV caches whose rows name no model: the pod's name
// joins them.
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
		for i := range one.measurement.pods {
			pod := &one.measurement.pods[i]
			if size, ok := sizes[podKey{model.Namespace, pod.name}]; ok {
				value := pod.gauge(query.KVCapacity)
				*value = larger(*value, size)
			}
		}
	}
}

// readHeld finds the pods that generate nothing and hold requests, or may hold some. While it is
// unknown which pods generate, it finds none.
func (b builders) readHeld(got *answers) {
	if got[query.AskGenerating].err != nil {
		return
	}
	for _, row := range got[query.AskGenerating].Rows {
		if model := b.of(&row); model != nil && row.Quantity == query.Generating {
			model.pod(row.Pod).generates = true
		}
	}
	blind := got[query.AskRunning].err != nil || got[query.AskQueueLength].err != nil
	for _, model := range b {
		for i := range model.measurement.pods {
			pod := &model.measurement.pods[i]
			if held := larger(*pod.gauge(query.Running), 0) + larger(*pod.gauge(query.QueueLength), 0); !pod.generates && (held > 0 || blind) {
				pod.held = held
			}
		}
	}
}

// suspects returns the names of the live pods that may be stuck, as the source has them, sorted.
func (b builders) suspects(pods podIndex) []string {
	var names []string
	for model, one := range b {
		for i := range one.measurement.pods {
			pod := &one.measurement.pods[i]
			if math.IsNaN(pod.held) {
				continue
			}
			if _, live := pods.pod(query.Row{Namespace: model.Namespace, Pod: pod.name}); live {
				names = append(names, pod.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readStuck takes over which pods are stuck.
func (b builders) readStuck(rows []query.Row) {
	for _, row := range rows {
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

// readFlows takes over the rates and means of the models. The growth of requests in flight may be
// negative; where it is no number it counts as missing.
func (b builders) readFlows(got *answers) {
	for _, row := range slices.Concat(got[query.AskFlow].Rows, got[query.AskMeans].Rows, got[query.AskObjective].Rows) {
		model := b.of(&row)
		if model == nil || row.Quantity < firstFlow || row.Quantity >= firstFlow+flowCount {
			continue
		}
		v := row.Value
		switch {
		case row.Quantity == query.InFlightGrowth && math.Abs(v) > scaling.Largest:
			v = math.NaN()
		case row.Quantity != query.InFlightGrowth && math.IsNaN(measurable(v)):
			v = garbage
		}
		value := model.measurement.flows.of(row.Quantity)
		*value = larger(*value, v)
	}
}

// readBuckets takes over the histograms of the given models, for which they were asked.
func (b builders) readBuckets(rows []query.Row, models []scaling.ModelKey) {
	for _, model := range models {
		b[model].measurement.percentiles = true
	}
	for _, row := range boundsAsNumbers(rows) {
		model := b.of(&row)
		if model == nil || !model.measurement.percentiles {
			continue
		}
		var h *scaling.Histogram
		switch row.Quantity {
		case query.TTFTBuckets:
			h = &model.measurement.ttft
		case query.ITLBuckets:
			h = &model.measurement.itl
		case query.RequestITLBuckets:
			h = &model.measurement.requestITL
		default:
			continue
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
		b[model].measurement.ttft = folded(b[model].measurement.ttft)
		b[model].measurement.itl = folded(b[model].measurement.itl)
		b[model].measurement.requestITL = folded(b[model].measurement.requestITL)
	}
}

// boundsAsNumbers returns the rows of buckets with one row for each bound. A store adds up the pods
// of a model by the text of a bound, and some pods write 1 where others write 1.0: those rows are
// different series, which add up. Rows with the same text are duplicates: the larger counts.
func boundsAsNumbers(rows []query.Row) []query.Row {
	type bucket struct {
		quantity         query.Quantity
		namespace, model string
		bound            float64
	}
	type text struct {
		bucket
		edge string
	}
	out, at, counted := make([]query.Row, 0, len(rows)), make(map[bucket]int, len(rows)), make(map[text]float64, len(rows))
	for _, row := range rows {
		if math.IsNaN(measurable(row.Value)) || math.IsNaN(row.Bound) {
			continue
		}
		b := bucket{row.Quantity, row.Namespace, row.Model, row.Bound}
		i, known := at[b]
		if !known {
			i, at[b] = len(out), len(out)
			out = append(out, row)
			out[i].Value = 0
		}
		t := text{b, row.Edge}
		if more := row.Value - counted[t]; more > 0 {
			counted[t] = row.Value
			out[i].Value += more
		}
	}
	return out
}

// folded returns a histogram sorted, without duplicates, and empty if it lacks the bucket that
// counts everything.
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

package history

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The memory of a History, for any fleet: 17 MiB, and about 200 bytes for each live pod.
const (
	seriesBytes = 10 << 20 // of models and variants over time
	changeLimit = 2 << 20  // of decisions that changed a number
	partLimit   = 4 << 20  // of their records
	endedLimit  = 1 << 20  // of replicas that ended
	mostCycles  = 8192     // times of cycles: more than a day at 15 s
)

// defaultSpan is how long history is kept by default.
const defaultSpan = 25 * time.Hour

// longestSpan is less than an int32 holds, in tenths of a second.
const longestSpan = 6 * 365 * 24 * time.Hour

// Options configure a History. The zero value is ready.
type Options struct {
	// Span is how long history is kept; 0 means 25 hours. More than six years count as six.
	Span time.Duration
	// Troubles returns the troubles that the conditions of the object of a variant report; nil
	// means none.
	Troubles func(scaling.VariantKey) []explain.Trouble
	// Later leaves compressing the records of decisions to Run. While Run is behind, the records of
	// a cycle are lost.
	Later bool
}

// Cycle is the inputs and decisions of a cycle.
type Cycle struct {
	record.Cycle

	// Analyses are the analyses of the models, for each model the deciding one first; nil where
	// they are not available.
	Analyses []scaling.Analysis
	// Pods are the live pods, and Ending the terminating ones. Pods are nil where only the samples
	// of the snapshots are available.
	Pods   []scaling.Pod
	Ending []scaling.PodName
	// Part returns the part of the cycle on which the decisions of a model depend; nil keeps no
	// records.
	Part func(scaling.ModelKey) record.Cycle
}

// History keeps the inputs and decisions of cycles. It is safe for concurrent use. See New.
type History struct {
	options Options
	later   chan keeping

	mu       sync.RWMutex
	revision int64
	last     Cycle
	base     time.Time // instants count from here
	begins   instant   // the first cycle that is kept
	now      instant   // of the last cycle
	cycles   []instant // ascending
	table    *table
	changes  bounded[change]
	parts    bounded[part]
	living   map[scaling.PodName]*replica
	ended    bounded[replica]
	timed    bool             // pods have their times
	entered  []*modelSeries   // scratch of a cycle: one for each snapshot, in order
	holding  []*variantSeries // scratch of a cycle: one for each of their variants, in order
}

// New returns an empty History.
func New(o Options) *History {
	if o.Span <= 0 {
		o.Span = defaultSpan
	}
	return &History{
		options: o, later: make(chan keeping, 1), table: newTable(seriesBytes, tenths(min(o.Span, longestSpan))),
		changes: newBounded[change](changeLimit), parts: newBounded[part](partLimit), ended: newBounded[replica](endedLimit),
		living: map[scaling.PodName]*replica{},
	}
}

func tenths(d time.Duration) instant { return instant(min(d/(100*time.Millisecond), math.MaxInt32)) }

// Add adds a cycle. It keeps c until the next call. A cycle that is not later than the one before
// is shown as the last, and is not added to the history.
func (h *History) Add(c Cycle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revision++
	before := h.last.Pods
	h.last = c
	if h.base.IsZero() {
		h.base = c.Now.Add(-time.Second).Truncate(100 * time.Millisecond)
	}
	since := c.Now.Sub(h.base) / (100 * time.Millisecond)
	if since <= time.Duration(h.now) || since > math.MaxInt32 {
		return
	}
	at := instant(since)
	h.pause(at, c.Interval)
	h.now = at
	if h.begins == 0 {
		h.begins = at
	}
	h.timed = c.Pods != nil
	h.tick(at)
	h.forget(at)

	h.enter(c, at)
	changed := h.decided(c, at)
	h.pods(c, before, at)
	h.measure(c, at)
	h.table.end(at)
	if len(changed) == 0 || c.Part == nil {
		return
	}
	k := keeping{at: at, part: c.Part, cycle: c.Cycle.Cycle, models: changed}
	if !h.options.Later {
		for _, p := range k.compress() {
			h.parts.add(p.model.Namespace, k.at, partBytes+len(p.text), p)
		}
		return
	}
	select {
	case h.later <- k:
	default: // Run is behind: these decisions have no record
	}
}

// missedCycles is how many intervals may pass without a cycle before the time between counts as
// unknown.
const missedCycles = 5

// pause adds a gap if no cycle ran for long before an instant.
func (h *History) pause(at instant, interval time.Duration) {
	step := max(tenths(interval), 15*second)
	if h.now > 0 && at-h.now > missedCycles*step {
		h.table.gap(h.now + step)
	}
}

// tick adds the time of a cycle.
func (h *History) tick(at instant) {
	if len(h.cycles) == mostCycles {
		h.cycles = slices.Delete(h.cycles, 0, mostCycles/8)
	}
	h.cycles = append(h.cycles, at)
}

// forget drops history from before the span.
func (h *History) forget(at instant) {
	if at <= h.table.span {
		return
	}
	old := at - h.table.span
	h.begins = max(h.begins, old)
	h.changes.forget(old)
	h.parts.forget(old)
	h.ended.forget(old)
}

// enter adds the models and variants of a cycle to the table, and counts the serving replicas.
func (h *History) enter(c Cycle, at instant) {
	h.entered, h.holding = h.entered[:0], h.holding[:0]
	for i := range c.Snapshots {
		s := &c.Snapshots[i]
		h.entered = append(h.entered, h.table.model(s.Model, at))
		own := len(h.holding)
		for j := range s.Variants {
			v := h.table.variant(s.Variants[j].Key, at)
			v.model, v.serving, v.ending = s.Model, 0, 0
			h.holding = append(h.holding, v)
		}
		for j := range s.Replicas {
			r := &s.Replicas[j]
			if !r.Ready || !r.Reports() {
				continue
			}
			for _, v := range h.holding[own:] {
				if v.key == r.Variant {
					v.serving++
					break
				}
			}
		}
	}
	h.table.share(at)
}

// decided keeps the decisions that changed a number, and returns their models.
func (h *History) decided(c Cycle, at instant) []scaling.ModelKey {
	if c.Plan == nil {
		return nil
	}
	var models []scaling.ModelKey
	for i := range c.Plan.Decisions {
		d := &c.Plan.Decisions[i]
		if v := h.table.variants[d.Variant]; v != nil && v.same(d.Target()) {
			continue
		}
		is, ok := changeOf(c.Cycle.Cycle, *d, c.History)
		if !ok {
			continue
		}
		h.changes.add(is.variant.Namespace, at, changeBytes+len(is.sentence), is)
		if v := h.table.variants[is.variant]; v != nil {
			v.order(at, is)
		}
		if !slices.Contains(models, is.model) {
			models = append(models, is.model)
		}
	}
	return models
}

// measure adds the values of a cycle to the series.
func (h *History) measure(c Cycle, at instant) {
	n, analysis, decision := 0, 0, 0 // likely places of the next ones: all have mostly one order
	for i := range c.Snapshots {
		s := &c.Snapshots[i]
		a := analysisNear(c.Analyses, &analysis, s.Model)
		values := measured(s, c.Configuration[s.Model].Objective, a)
		h.table.addModel(h.entered[i], at, &values)
		for j := range s.Variants {
			v, to := &s.Variants[j], h.holding[n]
			n++
			counts := counted(v, decisionNear(c.Plan, &decision, v.Key), to)
			h.table.addVariant(to, at, &counts)
		}
	}
}

// measured returns the values of the columns of a model.
func measured(s *scaling.Snapshot, o scaling.Objective, a *scaling.Analysis) [modelColumns]float64 {
	out := [modelColumns]float64{
		load: known(s.Load.ArrivalRate), utilization: math.NaN(), ttft: known(s.Load.TTFT), itl: known(s.Load.ITL),
		missed: math.NaN(), waiting: waitingOf(s), cost: costOf(s.Variants),
	}
	if a != nil && a.Signal != scaling.Unknown && a.Supply > 0 {
		out[utilization] = a.Demand / a.Supply
	}
	if o.Set() {
		if part, ok := s.Missed(o); ok {
			out[missed] = part
		}
	}
	return out
}

func known(r scaling.Reading) float64 { return r.Or(math.NaN()) }

// waitingOf returns how many requests of a model are known to wait, NaN where none of its queues is
// known.
func waitingOf(s *scaling.Snapshot) float64 {
	sum, found := s.Load.GatewayQueue.Or(0), s.Load.GatewayQueue.Known()
	for i := range s.Replicas {
		if is := s.Replicas[i].Waiting(); is.Known() {
			sum, found = sum+is.Value, true
		}
	}
	if !found {
		return math.NaN()
	}
	return sum
}

// costOf returns the cost of the current replicas per hour, NaN where those of a variant are
// unknown.
func costOf(variants []scaling.Variant) float64 {
	sum := 0.0
	for i := range variants {
		switch v := &variants[i]; {
		case v.Replicas.Observed:
			sum += v.CostPerHour(v.Replicas.Current)
		case !v.Gone:
			return math.NaN()
		}
	}
	return sum
}

// counted returns the values of the columns of a variant.
func counted(v *scaling.Variant, d *scaling.Decision, of *variantSeries) [variantColumns]float64 {
	out := [variantColumns]float64{
		desired: math.NaN(), current: math.NaN(), ready: math.NaN(), serving: float64(of.serving), draining: math.NaN(),
	}
	if d != nil {
		out[desired] = float64(d.Target())
	}
	if v.Replicas.Observed {
		out[current], out[ready] = float64(v.Replicas.Current), float64(v.Replicas.Ready)
		out[draining] = float64(v.Replicas.Surplus) + float64(of.ending)
	}
	return out
}

// near is how many elements a search compares before it turns to a binary search.
const near = 3

// analysisOf returns the first analysis of a model, nil where there is none.
func analysisOf(all []scaling.Analysis, model scaling.ModelKey) *scaling.Analysis {
	return analysisNear(all, new(int), model)
}

// analysisNear is analysisOf for a model that is likely at index *at or shortly after. It moves *at
// behind the analysis found.
func analysisNear(all []scaling.Analysis, at *int, model scaling.ModelKey) *scaling.Analysis {
	for i := *at; i < min(len(all), *at+near); i++ {
		if all[i].Model == model && (i == 0 || all[i-1].Model != model) {
			*at = i + 1
			return &all[i]
		}
	}
	i, found := slices.BinarySearchFunc(all, model, func(a scaling.Analysis, m scaling.ModelKey) int { return a.Model.Compare(m) })
	if !found {
		return nil
	}
	*at = i + 1
	return &all[i]
}

// decisionOf returns the decision for a variant, nil where there is none.
func decisionOf(p *scaling.Plan, of scaling.VariantKey) *scaling.Decision {
	return decisionNear(p, new(int), of)
}

// decisionNear is decisionOf for a variant that is likely at index *at or shortly after. It moves
// *at behind the decision found.
func decisionNear(p *scaling.Plan, at *int, of scaling.VariantKey) *scaling.Decision {
	if p == nil {
		return nil
	}
	for i := *at; i < min(len(p.Decisions), *at+near); i++ {
		if p.Decisions[i].Variant == of {
			*at = i + 1
			return &p.Decisions[i]
		}
	}
	i, found := slices.BinarySearchFunc(p.Decisions, of, func(d scaling.Decision, k scaling.VariantKey) int { return d.Variant.Compare(k) })
	if !found {
		return nil
	}
	*at = i + 1
	return &p.Decisions[i]
}

func unknownColumns() (model [modelColumns]float64, variant [variantColumns]float64) {
	for i := range model {
		model[i] = math.NaN()
	}
	for i := range variant {
		variant[i] = math.NaN()
	}
	return model, variant
}

// Span returns the first and the last time of the history, zero times where it is empty.
func (h *History) Span() (from, to time.Time) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.now == 0 {
		return time.Time{}, time.Time{}
	}
	return h.time(h.begins).Time, h.time(h.now).Time
}

// Models returns the known models in the namespaces that the caller may read, by key.
func (h *History) Models(may func(namespace string) bool) []scaling.ModelKey {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var out []scaling.ModelKey
	for key := range h.table.models {
		if may(key.Namespace) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, scaling.ModelKey.Compare)
	return out
}

func (h *History) time(at instant) Time {
	return At(h.base.Add(time.Duration(at) * 100 * time.Millisecond))
}

func (h *History) when(at moment) Time {
	if at == never {
		return Time{}
	}
	return At(h.base.Add(time.Duration(at) * 100 * time.Millisecond))
}

func (h *History) moment(t time.Time) moment {
	if t.IsZero() {
		return never
	}
	since := t.Sub(h.base) / (100 * time.Millisecond)
	return moment(max(-math.MaxInt32, min(math.MaxInt32, since)))
}

// instant returns the instant of a time, 0 for times before the base.
func (h *History) instant(t time.Time) instant {
	return instant(max(0, min(math.MaxInt32, t.Sub(h.base)/(100*time.Millisecond))))
}

// between returns the instants of two times; the zero time means the beginning of the history, or
// its end.
func (h *History) between(from, to time.Time) (begin, end instant) {
	begin, end = h.begins, h.now
	if !from.IsZero() {
		begin = h.instant(from)
	}
	if !to.IsZero() {
		end = min(end, h.instant(to))
	}
	return begin, max(begin, end)
}

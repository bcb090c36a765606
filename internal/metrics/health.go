package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// Outcome is the outcome of an operation.
type Outcome string

// The outcomes.
const (
	Success Outcome = "success"
	Failure Outcome = "failure"
	// Conflict and Forbidden are failures to set replicas: another writer changed the target at
	// each attempt, or the manager lacks the right.
	Conflict  Outcome = "conflict"
	Forbidden Outcome = "forbidden"
)

// OutcomeOf returns Failure for an error and Success for none.
func OutcomeOf(err error) Outcome {
	if err != nil {
		return Failure
	}
	return Success
}

// health holds the instruments about the process itself.
type health struct {
	cycleDuration prometheus.Histogram
	cycles        *prometheus.CounterVec
	queries       *prometheus.CounterVec
	queryDuration *prometheus.HistogramVec
	cacheHits     prometheus.Counter
	cacheMisses   prometheus.Counter
	background    *prometheus.CounterVec
	scaleUpdates  *prometheus.CounterVec
	leftOut       *prometheus.GaugeVec
	errors        *prometheus.CounterVec
}

// newHealth returns the instruments of healthInstruments, not yet registered.
func newHealth() health {
	known := map[string]Instrument{}
	for _, i := range healthInstruments() {
		known[i.Name] = i
	}
	counter := func(name string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: known[name].Help}, known[name].Labels)
	}
	// 1 ms to 65 s: from a cycle over caches to one that reaches its deadline.
	buckets := prometheus.ExponentialBuckets(0.001, 4, 9)
	duration := func(name string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: known[name].Help, Buckets: buckets}
	}
	h := health{
		cycleDuration: prometheus.NewHistogram(duration(CycleDuration)),
		cycles:        counter(Cycles),
		queries:       counter(CollectorQueries),
		queryDuration: prometheus.NewHistogramVec(duration(CollectorQueryDuration), known[CollectorQueryDuration].Labels),
		cacheHits:     counter(CollectorCacheHits).WithLabelValues(),
		cacheMisses:   counter(CollectorCacheMisses).WithLabelValues(),
		background:    counter(BackgroundFetches),
		scaleUpdates:  counter(ScaleUpdates),
		errors:        counter(Errors),
		leftOut: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: NamespaceLeftOut, Help: known[NamespaceLeftOut].Help},
			known[NamespaceLeftOut].Labels),
	}
	// These series begin at 0, so that the first failure is an increase.
	for _, outcome := range []Outcome{Success, Failure} {
		h.cycles.WithLabelValues(string(outcome))
		h.background.WithLabelValues(string(outcome))
	}
	for _, outcome := range []Outcome{Success, Failure, Conflict, Forbidden} {
		h.scaleUpdates.WithLabelValues(string(outcome))
	}
	return h
}

// collectors returns everything that must be registered.
func (h *health) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		h.cycleDuration, h.cycles, h.queries, h.queryDuration, h.cacheHits, h.cacheMisses, h.background, h.scaleUpdates, h.leftOut, h.errors,
	}
}

// ObserveCycle counts a cycle that took d from its start to the plan.
func (h *health) ObserveCycle(outcome Outcome, d time.Duration) {
	h.cycles.WithLabelValues(Label(string(outcome))).Inc()
	h.cycleDuration.Observe(d.Seconds())
}

// ObserveQuery counts a query to the metrics source that took d. query is its
// name in the catalogue of queries, never its text: the label must be bounded.
func (h *health) ObserveQuery(query string, outcome Outcome, d time.Duration) {
	h.queries.WithLabelValues(Label(query), Label(string(outcome))).Inc()
	h.queryDuration.WithLabelValues(Label(query)).Observe(d.Seconds())
}

// ObserveCache counts the models whose measurement was found in the collector's cache, and those
// whose was not.
func (h *health) ObserveCache(hits, misses int) {
	h.cacheHits.Add(float64(hits))
	h.cacheMisses.Add(float64(misses))
}

// CountBackgroundFetch counts a pass of background fetching.
func (h *health) CountBackgroundFetch(outcome Outcome) {
	h.background.WithLabelValues(Label(string(outcome))).Inc()
}

// CountScaleUpdate counts an attempt to set the replicas of a target.
func (h *health) CountScaleUpdate(outcome Outcome) {
	h.scaleUpdates.WithLabelValues(Label(string(outcome))).Inc()
}

// CountError counts an error of a component, a package name such as "collector" or "actuator": the
// label must be bounded.
func (h *health) CountError(component string) {
	h.errors.WithLabelValues(Label(component)).Inc()
}

// LeftOut exports the number of items of one kind that are left out of each namespace, and replaces
// the earlier numbers of that kind.
func (h *health) LeftOut(what budget.What, counts map[string]int) {
	h.leftOut.DeletePartialMatch(prometheus.Labels{LabelWhat: string(what)})
	for namespace, n := range counts {
		if n > 0 {
			h.leftOut.WithLabelValues(Label(namespace), string(what)).Set(float64(n))
		}
	}
}

package main

import (
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// kept is the cache of measurements between cycles.
type kept struct {
	cache.Cache
	// run runs beside the cache; nil for nothing.
	run leading
}

// newKept returns the cache that the configuration asks for. Another one (such as one that several
// processes share) implements cache.Cache and is returned here.
func newKept(c config.Cache) kept {
	if !c.Enabled {
		return kept{Cache: cache.NoOp{}}
	}
	ttl := cache.New(clock.RealClock{}, cache.Options{CleanupInterval: c.CleanupInterval, MaxEntries: c.MaxEntries})
	return kept{Cache: ttl, run: ttl.Run}
}

// handler returns a handler that shows and empties the cache.
func (k kept) handler() http.Handler { return cache.Handler(k.Cache, clock.RealClock{}) }

// forget drops the measurements of a model.
func (k kept) forget(model scaling.ModelKey) { k.Invalidate(collector.Key(model)) }

// policyOf returns how long measurements are kept, given the time between cycles. With the cache
// off it is 0, which does not extend how long a page counts as Fresh.
func policyOf(c config.Cache, interval func() time.Duration) cache.Lifetime {
	if !c.Enabled {
		return cache.Fixed(0)
	}
	switch c.Mode {
	case config.CacheInterval:
		return cache.Following{Interval: interval}
	case config.CacheAdaptive:
		return cache.Adaptive{Min: max(c.TTL/4, time.Second), Max: c.TTL}
	default:
		return cache.Fixed(c.TTL)
	}
}

// measuring holds the inputs of a collector.
type measuring struct {
	operator     *config.Operator
	source       collector.Source
	store        cache.Cache
	instruments  *metrics.Metrics
	hasObjective func(scaling.ModelKey) bool // which models have latency objectives
	objective    func(scaling.ModelKey) scaling.Objective
	// idle tracks for how long models have been without a request.
	idle *collector.IdleTracker
	// waiting returns the number of requests of a model that wait at the gateway.
	waiting func(scaling.ModelKey) float64
}

// newCollector returns the collector that measures through the source.
func newCollector(m measuring) *collector.Collector {
	c := m.operator.Collector.Cache
	options := collector.Options{
		Backend:         scaling.Backend(m.operator.Collector.Backend),
		QueryTimeout:    m.operator.Prometheus.Timeout,
		Budget:          m.operator.Prometheus.Budget,
		Limits:          collector.Limits{Fresh: c.FreshThreshold, Aging: c.UnavailableThreshold},
		Percentiles:     m.hasObjective,
		Objective:       m.objective,
		Idle:            m.idle,
		Waiting:         m.waiting,
		Cache:           m.store,
		TTL:             policyOf(c, func() time.Duration { return m.operator.Interval }),
		RefreshInterval: m.operator.FetchInterval(),
		Observe: func(name string, took time.Duration, err error) {
			m.instruments.ObserveQuery(name, metrics.OutcomeOf(err), took)
		},
		ObserveCache:    m.instruments.ObserveCache,
		ObserveCrowding: func(int) { m.instruments.CountError("cache") },
		ObserveFetch: func(_ time.Duration, err error) {
			if err != nil {
				m.instruments.CountError("collector")
			}
		},
	}
	if m.operator.WatchNamespace != "" {
		options.Namespaces = []string{m.operator.WatchNamespace}
	}
	return collector.New(m.source, clock.RealClock{}, options)
}

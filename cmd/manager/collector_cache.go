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

// kept is where measurements are kept between cycles.
type kept struct {
	cache.Cache
	// run is what the cache needs to have running, nil for nothing.
	run leading
}

// newKept returns the cache that the configuration asks for. Another one (shared
// by several processes, say) implements cache.Cache and is returned here.
func newKept(c config.Cache) kept {
	if !c.Enabled {
		return kept{Cache: cache.NoOp{}}
	}
	ttl := cache.New(clock.RealClock{}, cache.Options{CleanupInterval: c.CleanupInterval, MaxEntries: c.MaxEntries})
	return kept{Cache: ttl, run: ttl.Run}
}

// handler returns what shows and empties the cache over HTTP.
func (k kept) handler() http.Handler { return cache.Handler(k.Cache, clock.RealClock{}) }

// forget drops what is kept of a model.
func (k kept) forget(model scaling.ModelKey) { k.Invalidate(collector.Key(model)) }

// policyOf returns how long measurements are kept, given the time between
// cycles. That is not at all where the cache is off, and no page counts as Fresh
// for longer then.
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

// measuring is what a collector is built from.
type measuring struct {
	operator     *config.Operator
	source       collector.Source
	store        cache.Cache
	instruments  *metrics.Metrics
	hasObjective func(scaling.ModelKey) bool // which models have latency objectives
	objective    func(scaling.ModelKey) scaling.Objective
	// idle knows for how long models have been without a request.
	idle *collector.IdleTracker
	// waiting returns how many requests were seen to wait at the gateway for a model.
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

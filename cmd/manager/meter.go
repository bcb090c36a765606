package main

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// tools are what a meter is made with, whatever its settings.
type tools struct {
	backends     map[string]factory
	surroundings surroundings
	instruments  *metrics.Metrics
	hasObjective func(scaling.ModelKey) bool // which models have latency objectives
	objective    func(scaling.ModelKey) scaling.Objective
	// idle knows for how long models have been without a request.
	idle *collector.IdleTracker
	// waiting returns how many requests were seen to wait at the gateway for a model.
	waiting func(scaling.ModelKey) float64
}

// meter measures the fleet by the settings in force. When they change, the parts
// that they concern are replaced: a source that is asked otherwise, a cache of
// another shape, a collector with other limits. It is safe for concurrent use.
type meter struct {
	tools
	replaced chan struct{} // parts that have something running are others

	mu  sync.RWMutex
	now parts
}

// parts are those of a meter; they are replaced and never modified.
type parts struct {
	operator  *config.Operator
	from      backend
	store     kept
	collector *collector.Collector
}

var _ watch.Collector = (*meter)(nil)

// newMeter returns a meter that measures by a configuration, from a backend that was
// built by it. It contacts nothing.
func newMeter(t tools, o *config.Operator, from backend) *meter {
	m := &meter{tools: t, replaced: make(chan struct{}, 1)}
	m.now = m.with(o, from, newKept(o.Collector.Cache))
	return m
}

// take measures by another configuration from now on. After an error it goes on
// as before.
func (m *meter) take(o *config.Operator) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := m.build(o, m.now)
	if err != nil {
		return err
	}
	m.now = next
	select {
	case m.replaced <- struct{}{}:
	default: // the last notice, which says the same, has not been read yet
	}
	return nil
}

// build returns parts for a configuration, with those of last that it does not
// concern.
func (m *meter) build(o *config.Operator, last parts) (parts, error) {
	if asksOtherwise(last.operator, o) {
		from, err := newBackend(m.backends, m.surroundings, o)
		if err != nil {
			return parts{}, err
		}
		return m.with(o, from, newKept(o.Collector.Cache)), nil
	}
	store := last.store
	if keepsOtherwise(last.operator.Collector.Cache, o.Collector.Cache) {
		store = newKept(o.Collector.Cache)
	}
	return m.with(o, last.from, store), nil
}

// with returns parts that measure by a configuration, from a backend and with a cache.
func (m *meter) with(o *config.Operator, from backend, store kept) parts {
	return parts{operator: o, from: from, store: store, collector: newCollector(measuring{
		operator: o, source: from.source, store: store, instruments: m.instruments, hasObjective: m.hasObjective,
		objective: m.objective, idle: m.idle, waiting: m.waiting,
	})}
}

// asksOtherwise reports whether a configuration needs another source. One that
// scrapes remembers what it saw and is kept as long as it can be.
func asksOtherwise(a, b *config.Operator) bool {
	switch {
	case a.Collector.Backend != b.Collector.Backend:
		return true
	case b.Collector.Backend == config.BackendPrometheus:
		return !reflect.DeepEqual(a.Prometheus, b.Prometheus)
	default:
		return a.Collector.Scrape != b.Collector.Scrape || !slices.Equal(a.Prometheus.MetricPrefixes, b.Prometheus.MetricPrefixes)
	}
}

// keepsOtherwise reports whether a configuration needs another cache.
func keepsOtherwise(a, b config.Cache) bool {
	return a.Enabled != b.Enabled || a.MaxEntries != b.MaxEntries || a.CleanupInterval != b.CleanupInterval
}

func (m *meter) parts() parts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.now
}

// Collect implements cycle.Collector.
func (m *meter) Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	return m.parts().collector.Collect(ctx, fleet)
}

// Refresh implements watch.Collector.
func (m *meter) Refresh(ctx context.Context, fleet scaling.Fleet) error {
	return m.parts().collector.Refresh(ctx, fleet)
}

// Look implements watch.Collector.
func (m *meter) Look(ctx context.Context, fleet scaling.Fleet) ([]scaling.Snapshot, error) {
	return m.parts().collector.Look(ctx, fleet)
}

// forget drops what is kept of a model.
func (m *meter) forget(model scaling.ModelKey) { m.parts().store.forget(model) }

// ServeHTTP shows and empties the cache.
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.parts().store.handler().ServeHTTP(w, r)
}

// run keeps running what the parts need to have running, until ctx ends.
func (m *meter) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := m.runParts(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runParts runs what the present parts need until they are replaced.
func (m *meter) runParts(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	p := m.parts()
	for _, run := range []leading{p.store.run, p.from.run} {
		if run != nil {
			group.Go(func() error { return run(ctx) })
		}
	}
	for {
		select {
		case <-ctx.Done(): // the end, or what runs has failed
			return group.Wait()
		case <-m.replaced:
			if q := m.parts(); sameRuns(p, q) {
				continue
			}
			cancel()
			return group.Wait()
		}
	}
}

// sameRuns reports whether what runs for some parts serves others too.
func sameRuns(a, b parts) bool {
	return a.from.source == b.from.source && a.store.Cache == b.store.Cache
}

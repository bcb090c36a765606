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

// tools are the inputs of a meter beside its settings.
type tools struct {
	backends     map[string]factory
	surroundings surroundings
	instruments  *metrics.Metrics
	hasObjective func(scaling.ModelKey) bool // which models have latency objectives
	objective    func(scaling.ModelKey) scaling.Objective
	// idle tracks for how long models have been without a request.
	idle *collector.IdleTracker
	// waiting returns the number of requests of a model that wait at the gateway.
	waiting func(scaling.ModelKey) float64
}

// meter measures the fleet by the settings in force. When they change, it replaces the parts that
// they affect: the source, the cache, the collector. It is safe for concurrent use.
type meter struct {
	tools
	replaced chan struct{} // receives when parts were replaced

	mu  sync.RWMutex
	now parts
}

// parts are the parts of a meter; they are replaced and never modified.
type parts struct {
	operator  *config.Operator
	from      backend
	store     kept
	collector *collector.Collector
}

var _ watch.Collector = (*meter)(nil)

// newMeter returns a meter with a configuration and a backend that was built by it. It contacts
// nothing.
func newMeter(t tools, o *config.Operator, from backend) *meter {
	m := &meter{tools: t, replaced: make(chan struct{}, 1)}
	m.now = m.with(o, from, newKept(o.Collector.Cache))
	return m
}

// take measures by another configuration from now on. After an error it keeps the last one.
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
	default: // an unread notice is still there, and suffices
	}
	return nil
}

// build returns the parts for a configuration. It keeps those of last that the change does not
// affect.
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

// with returns parts for a configuration, a backend and a cache.
func (m *meter) with(o *config.Operator, from backend, store kept) parts {
	return parts{operator: o, from: from, store: store, collector: newCollector(measuring{
		operator: o, source: from.source, store: store, instruments: m.instruments, hasObjective: m.hasObjective,
		objective: m.objective, idle: m.idle, waiting: m.waiting,
	})}
}

// asksOtherwise reports whether a configuration needs another source. A source that scrapes has a
// memory, so it is kept as long as possible.
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

// forget drops the measurements of a model.
func (m *meter) forget(model scaling.ModelKey) { m.parts().store.forget(model) }

// ServeHTTP shows and empties the cache.
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.parts().store.handler().ServeHTTP(w, r)
}

// run runs what the parts need, until ctx ends.
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
		case <-ctx.Done(): // the end, or a part has failed
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

// sameRuns reports whether the two need the same running parts.
func sameRuns(a, b parts) bool {
	return a.from.source == b.from.source && a.store.Cache == b.store.Cache
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// backend is a source of metrics.
type backend struct {
	source collector.Source
	// run runs beside the source while this manager leads; nil for nothing.
	run leading
}

// surroundings are the inputs of every backend beside its configuration.
type surroundings struct {
	log     logr.Logger
	cluster cluster
	// observe is called for every scraped page, from several goroutines.
	observe func(took time.Duration, err error)
	// over takes the number of pages left out in each namespace; nil ignores them.
	over *budget.LeftOut
}

// cluster lists the objects that a backend scrapes.
type cluster interface {
	Fleet(ctx context.Context, now time.Time) (scaling.Fleet, error)
	Pickers(ctx context.Context, selector labels.Selector) ([]discovery.MetricsEndpoint, error)
}

var _ cluster = (*discovery.Cluster)(nil)

// factory builds a backend. It contacts nothing: the first cycle reports what is missing. It
// refuses a wrong configuration.
type factory func(surroundings, *config.Operator) (backend, error)

// backends returns the factory of every backend, by its name in the
// configuration. To add another:
//
//   - implement collector.Source in a package of its own below
//     internal/collector, with collectortest.TestContract as its first test;
//   - give it a name in config.Backends, and its settings a struct there;
//   - add its factory here.
func backends() map[string]factory {
	return map[string]factory{
		config.BackendPrometheus: newPrometheus,
		config.BackendPods:       newPods,
		config.BackendEPP:        newEPP,
	}
}

// newBackend builds the backend that the configuration names.
func newBackend(known map[string]factory, s surroundings, o *config.Operator) (backend, error) {
	name := o.Collector.Backend
	build, ok := known[name]
	if !ok {
		names := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		return backend{}, &config.FieldError{Key: "COLLECTOR_BACKEND", Value: name, Want: "one of " + names}
	}
	return build(s, o)
}

// firstBackend returns the first candidate for which a backend can be built, and that backend.
func firstBackend(known map[string]factory, s surroundings, candidates []*config.Operator) (*config.Operator, backend, error) {
	var first error
	for _, o := range candidates {
		b, err := newBackend(known, s, o)
		if err == nil {
			return o, b, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, backend{}, first
}

// newPrometheus returns a backend that reads a store with the Prometheus HTTP API.
func newPrometheus(s surroundings, o *config.Operator) (backend, error) {
	settings := prometheus.Configured(o.Prometheus)
	settings.OnWarning = func(ask query.Question, warnings []string) {
		s.log.V(1).Info("query answered with warnings", "query", ask.String(), "reason", warnings)
	}
	source, err := prometheus.New(settings)
	if err != nil {
		return backend{}, fmt.Errorf("configuring Prometheus (--prometheus-*, and --allow-insecure-prometheus for http): %w", err)
	}
	return backend{source: source}, nil
}

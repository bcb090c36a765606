package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// watchedNames returns every name of a ConfigMap that is read.
func watchedNames(names config.Names) []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(names))...)))
}

// allotment is what a configuration is told of, and tells, within the budget of each
// namespace.
type allotment struct {
	served   client.Reader
	recorder events.EventRecorder
	over     *budget.Book
}

// newConfiguration returns what keeps settings and store up to date with the
// ConfigMaps, for whatever is served, and what says whether they are known. What
// candidates found in the store, it has logged.
func newConfiguration(mgr manager.Manager, settings *inForce, store *config.Store, with allotment, book *ledger.Ledger) (*controller.Configuration, healthz.Checker, error) {
	o := settings.process
	var namespaces []string
	if o.WatchNamespace != "" {
		namespaces = []string{o.SystemNamespace, o.WatchNamespace}
	}
	ready := &watched{clock: clock.RealClock{}}
	maps, err := controller.NewConfigMapWatch(func(options cache.Options) (cache.Cache, error) {
		options.Scheme, options.Mapper, options.DefaultWatchErrorHandler = mgr.GetScheme(), mgr.GetRESTMapper(), ready.note
		return newCache(mgr.GetConfig(), options)
	}, watchedNames(o.Names()), namespaces)
	if err != nil {
		return nil, nil, err
	}
	configuration := controller.NewConfiguration(controller.ConfigurationOptions{
		Log: mgr.GetLogger(), SystemNamespace: o.SystemNamespace, Names: o.Names(), Store: store, ConfigMaps: maps,
		Variants: with.served, ServesAll: o.WatchNamespace == "" && o.ControllerInstance == "", Informers: mgr.GetCache(), Take: settings.take, Wake: settings.cycles.Wake,
		Budget: o.Budget.Limits, Over: with.over,
		Events: with.recorder, Leads: mgr.Elected(), Logged: store.Snapshot().Findings(),
		Cycle: func() scaling.CycleID { last, _ := book.Latest(); return last.Cycle },
	})
	ready.listed = func(ctx context.Context) bool { return configuration.Synced(ctx) == nil }
	return configuration, ready.check, nil
}

// readConfigMaps returns the ConfigMaps of the system namespace. Those of other
// namespaces say nothing of the manager itself.
func readConfigMaps(ctx context.Context, reader client.Reader, o *config.Operator) ([]config.Source, error) {
	var sources []config.Source
	for _, name := range watchedNames(o.Names()) {
		var m corev1.ConfigMap
		err := reader.Get(ctx, client.ObjectKey{Namespace: o.SystemNamespace, Name: name}, &m)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", o.SystemNamespace, name, err)
		default:
			sources = append(sources, config.Source{Namespace: m.Namespace, Name: m.Name, Data: m.Data})
		}
	}
	return sources, nil
}

// candidates returns the configurations to start with, the best first: that of
// the process with what the ConfigMaps say of it; and without, so that what they
// say wrongly keeps no manager from starting.
func candidates(o *config.Operator, store *config.Store, sources []config.Source, log logr.Logger) ([]*config.Operator, error) {
	for _, f := range store.Apply(sources).Findings {
		log.Info("configuration is not what was written", "namespace", f.Namespace, "configMap", f.ConfigMap, "reason", f.String())
	}
	bare, err := o.NewStore()
	if err != nil {
		return nil, err
	}
	var out []*config.Operator
	var first error // of the best, which says what is wrong with what was written
	for _, s := range []*config.Store{store, bare} {
		with, err := o.With(s.Snapshot().Settings())
		switch {
		case err == nil:
			out = append(out, with)
		case first == nil:
			first = err
		}
	}
	if len(out) == 0 {
		return nil, first
	}
	return out, nil
}

// firstMeter returns a meter by the first of the candidates that one can be made
// by, and that candidate.
func firstMeter(t tools, candidates []*config.Operator) (*meter, *config.Operator, error) {
	var first error
	for _, o := range candidates {
		m, err := newMeter(t, o)
		if err == nil {
			return m, o, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, nil, first
}

// inForce is the configuration of the process that is in force, and whoever goes
// by it.
type inForce struct {
	process  *config.Operator // what flags, environment and file say
	level    *logging.Level
	meter    *meter
	cycles   *executor.Executor
	fetching *fetching
	operator atomic.Pointer[config.Operator]
}

// start measures, and decides when cycles run, by the first of the candidates
// that can be put into force.
func (f *inForce) start(candidates []*config.Operator, t tools) error {
	m, o, err := firstMeter(t, candidates)
	if err != nil {
		return err
	}
	mode, err := executor.ParseMode(o.Executor)
	if err != nil {
		return err
	}
	f.meter = m
	f.operator.Store(o)
	f.cycles = executor.New(clock.RealClock{}, mode, func() time.Duration { return f.now().Interval })
	return f.level.SetLevel(o.LogLevel)
}

// ServeHTTP shows and empties the cache.
func (f *inForce) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.meter.ServeHTTP(w, r) }

// now returns the configuration in force.
func (f *inForce) now() *config.Operator { return f.operator.Load() }

// take puts settings into force and returns what of them cannot be, without the
// ConfigMap that says so.
func (f *inForce) take(s config.Settings) []config.Finding {
	before := f.now()
	var refused []config.Finding
	if s.Backend != before.Collector.Backend {
		refused = append(refused, config.Finding{
			Severity: config.Refused, Key: "COLLECTOR_BACKEND", Value: s.Backend, Problem: "takes effect when the manager starts again", InForce: before.Collector.Backend,
		})
		s.Backend = before.Collector.Backend
	}
	next, err := f.process.With(s)
	if err == nil {
		err = f.meter.take(next)
	}
	if err != nil {
		refused = append(refused, notInForce(err))
		s.Prometheus = before.Prometheus // the rest has been accepted
		if next, err = f.process.With(s); err == nil {
			err = f.meter.take(next)
		}
		if err != nil {
			return append(refused, notInForce(err))
		}
	}
	f.operator.Store(next)
	if err := f.level.SetLevel(next.LogLevel); err != nil {
		refused = append(refused, notInForce(err))
	}
	if mode, err := executor.ParseMode(next.Executor); err != nil {
		refused = append(refused, notInForce(err))
	} else {
		f.cycles.SetMode(mode)
	}
	if pace(before) != pace(next) {
		f.fetching.passes.Wake("configuration changed")
	}
	return refused
}

// pace returns how often measurements are fetched in the background, 0 for never.
func pace(o *config.Operator) time.Duration {
	if !o.Collector.Cache.Background() {
		return 0
	}
	return o.FetchInterval()
}

// notInForce says that settings are what they were because of err.
func notInForce(err error) config.Finding {
	found := config.Finding{Severity: config.Refused, Problem: "cannot be put into force: " + err.Error(), InForce: "what was before"}
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		found.Key, found.Value, found.Want, found.Problem = field.Key, field.Value, field.Want, ""
	}
	return found
}

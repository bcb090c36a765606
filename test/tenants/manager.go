package tenants

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/stock"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

const (
	// system is the namespace of the manager.
	system = "wva-system"
	// between is the time between two scrapes of a page.
	between = 15 * time.Second
)

// leader is a manager that leads, wired as cmd/manager does over a cluster in memory.
type leader struct {
	cluster   *cluster
	log       logr.Logger
	store     *config.Store
	configure *controller.Configuration
	fleet     *discovery.Cluster
	source    *scrape.Source
	collector *collector.Collector
	idle      *collector.IdleTracker
	stock     *stock.Stock
	book      *ledger.Ledger
	cycle     *cycle.Cycle
	watch     *watch.Watch
	status    *controller.Status
	registry  *prometheus.Registry
	page      http.Handler
	events    *recorder

	refused []string // errors that no manager should have
}

// newLeader wires a leader. It runs nothing.
func newLeader(c *cluster) (*leader, error) {
	operator, err := config.Parse([]string{"--collector-backend=pods", "--pod-namespace=" + system, "--scrape-interval=" + between.String(), "--store=false"},
		func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		return nil, err
	}
	level, err := logging.NewLevel("info")
	if err != nil {
		return nil, err
	}
	l := &leader{cluster: c, log: logging.New(io.Discard, level), book: ledger.New(), registry: prometheus.NewRegistry(), events: &recorder{}}
	if l.store, err = operator.NewStore(); err != nil {
		return nil, err
	}
	clk := clock.RealClock{}
	instruments := metrics.New(l.registry, clk, metrics.Options{})
	served := discovery.Served{Reader: c}
	l.fleet = discovery.New(served, c)
	limits, over := operator.Budget.Limits, budget.NewLeftOut(instruments.LeftOut)
	events := controller.Budgeted(l.events, clk, limits, over)
	l.fleet.By, l.fleet.Limits, l.fleet.Left = scalers.New(c, clk), limits, over
	l.fleet.UnitCost = func(namespace, accelerator string) (float64, bool) {
		unit, ok := l.store.Snapshot().UnitCost(namespace, accelerator)
		return unit.Cost, ok
	}
	l.measure(operator, instruments, over)
	led := make(chan struct{})
	close(led)
	l.configure = controller.NewConfiguration(controller.ConfigurationOptions{
		Log: l.log, SystemNamespace: system, Names: operator.Names(), Store: l.store, ConfigMaps: c, Variants: served, ServesAll: true, Informers: c,
		Take: func(config.Settings) []config.Finding { return nil }, Wake: func(string) {}, Events: events, Leads: led, Budget: limits, Over: over,
		Cycle: func() scaling.CycleID { last, _ := l.book.Latest(); return last.Cycle },
	})
	hand := subresource.New(subresource.Options{Objects: c, Scalers: l.fleet, Scales: c, Pods: c, Count: instruments.CountScaleUpdate})
	l.stock = stock.New(stock.Options{Client: stockClient{cluster: c}, Clock: clk, Idle: func() time.Duration { return time.Hour }})
	l.cycle = &cycle.Cycle{
		Process: "tenants", Clock: clk, Cluster: l.fleet, Collector: l.collector, Recorder: l.book,
		Actuator: actuator.New(actuator.Options{Metrics: instruments, Store: &external.Store{}, Memory: l.book, Scaler: hand}),
		Policy:   l.decides, Stock: l.stock,
		Quotas: func(variants []scaling.Variant) []scaling.Quota { return l.store.Snapshot().Quotas(variants) },
	}
	l.watch = &watch.Watch{
		Clock: clk, Cluster: l.fleet, Collector: l.collector, Memory: l.book, Wake: func(string) {},
		Analyze: watch.By(l.decides),
	}
	l.status = controller.NewStatus(controller.StatusOptions{
		Objects: c, Ledger: l.book, Conflicts: l.fleet, Scalers: l.fleet, TargetScaler: hand, Configured: l.configure, Classes: l.fleet, Events: events, Gauge: instruments,
		Allotted: l.fleet, Budget: limits, Over: over,
	})
	l.page = web.Decisions(l.book, around{l}, nil)
	return l, nil
}

// measure wires the parts that read the pages.
func (l *leader) measure(operator *config.Operator, instruments *metrics.Metrics, over *budget.LeftOut) {
	clk := clock.RealClock{}
	list := func(found []discovery.MetricsEndpoint) []scrape.Target {
		out := make([]scrape.Target, len(found))
		for i, p := range found {
			out[i] = scrape.Target(p)
		}
		return out
	}
	selector := labels.SelectorFromSet(nil)
	if parsed, err := labels.Parse(operator.Collector.Scrape.PickerSelector); err == nil {
		selector = parsed
	}
	l.source = scrape.New(unspread{clk}, scrape.Options{
		Name: operator.Collector.Backend, Interval: operator.Collector.Scrape.Interval, Client: &http.Client{Transport: pages{l.cluster}},
		Pods: func(ctx context.Context) ([]scrape.Target, error) {
			fleet, err := l.fleet.Fleet(ctx, clk.Now())
			return list(discovery.MetricsEndpoints(fleet)), err
		},
		Pickers: func(ctx context.Context) ([]scrape.Target, error) {
			found, err := l.fleet.Pickers(ctx, selector)
			return list(found), err
		},
		Observe: func(took time.Duration, err error) { instruments.ObserveQuery("scrape", metrics.OutcomeOf(err), took) },
		Limits:  operator.Budget.Limits,
		LeftOut: func(left map[budget.What]map[string]int) {
			for w, counts := range left {
				over.Note(w, counts)
			}
		},
	})
	l.idle = collector.NewIdleTracker(func(m scaling.ModelKey) time.Duration { return l.policy(m).ScaleToZero.Retention })
	kept := operator.Collector.Cache
	l.collector = collector.New(l.source, clk, collector.Options{
		Backend: scaling.Backend(operator.Collector.Backend), Limits: collector.Limits{Fresh: kept.FreshThreshold, Aging: kept.UnavailableThreshold},
		Percentiles: l.hasObjective, Idle: l.idle, Cache: cache.New(clk, cache.Options{MaxEntries: kept.MaxEntries}), TTL: cache.Fixed(kept.TTL),
		RefreshInterval: operator.FetchInterval(),
	})
}

// unspread is a clock by which all pages of a round are read at one instant. Pages of others may
// delay a page by a part of a second, which does no harm but would change the last digits of every
// rate.
type unspread struct{ clock.RealClock }

// NewTimer implements clock.WithTicker. Only the waits that spread a round are shorter than the
// time between two rounds.
func (c unspread) NewTimer(d time.Duration) clock.Timer {
	if d < between {
		d = 0
	}
	return c.RealClock.NewTimer(d)
}

// policy returns the policy of a model.
func (l *leader) policy(m scaling.ModelKey) config.ModelSettings {
	return l.store.Snapshot().Policy(m, l.fleet.ClassRefs(m)...)
}

// decides returns the settings by which a cycle decides on a model.
func (l *leader) decides(m scaling.ModelKey) settings.Model { return l.policy(m).Resolved() }

// hasObjective reports whether a model has a latency objective.
func (l *leader) hasObjective(m scaling.ModelKey) bool {
	o, err := l.store.Snapshot().Objective(m, l.fleet.ClassRefs(m)...)
	return err == nil && o.Known()
}

// begin starts the parts that run beside cycles, and returns a function that ends them.
func (l *leader) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, l.log))
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{l.configure.Start, l.source.Run, l.stock.Run, l.idle.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				l.refuse(err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// refuse records an error that no manager should have.
func (l *leader) refuse(err error) {
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	l.refused = append(l.refused, err.Error())
}

// turn runs a cycle and then the status reconciliations, and returns how long the cycle waited.
func (l *leader) turn(ctx context.Context) (waited time.Duration) {
	ctx = ctrllog.IntoContext(ctx, l.log)
	began := time.Now()
	if err := l.cycle.Run(ctx, untilNext); err != nil && !strings.Contains(err.Error(), "has these labels already") {
		l.refuse(err) // names may be equal once cut for labels: the others are published
	}
	waited = time.Since(began)
	keys, err := l.cluster.Variants(ctx)
	if err != nil {
		l.refuse(err)
	}
	for _, key := range keys {
		if _, err := l.status.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
			l.refuse(err)
		}
	}
	if _, err := l.registry.Gather(); err != nil {
		l.refuse(fmt.Errorf("gathering the metrics: %w", err))
	}
	return waited
}

// show requests the page with the decisions on all variants.
func (l *leader) show(ctx context.Context) {
	answer := &reader{header: http.Header{}, status: http.StatusOK}
	l.page.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, web.DecisionsPath, http.NoBody))
	if answer.status != http.StatusOK {
		l.refuse(fmt.Errorf("%s answers %d", web.DecisionsPath, answer.status))
	}
}

// reader discards an answer, except for its status.
type reader struct {
	header http.Header
	status int
}

// around provides what the web page shows beside decisions.
type around struct{ *leader }

// Objective implements web.Surroundings.
func (a around) Objective(m scaling.ModelKey) explain.Objective {
	p := a.policy(m)
	return explain.Objective{
		Objective: p.Resolved().Objective,
		Row:       string(p.Objective.Level), Unfollowed: p.Objective.Unfollowed,
	}
}

// Actuation implements web.Surroundings.
func (a around) Actuation(ctx context.Context, key scaling.VariantKey) explain.Actuation {
	out := explain.ActuationBy(a.fleet.Scalers(key))
	va, err := a.cluster.Variant(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return out
	}
	for _, c := range va.Status.Conditions {
		if c.Type == "ScalerFollowing" {
			out.Reason, out.Message = c.Reason, c.Message
		}
	}
	return out
}

// StartUps implements web.Surroundings.
func (a around) StartUps(m scaling.ModelKey, variant string) explain.StartUps {
	return explain.StartUpsOf(a.fleet.StartUps(m, variant))
}

// recorder counts events.
type recorder struct {
	mu    sync.Mutex
	count map[string]int // by namespace
	bytes map[string]int
}

var _ events.EventRecorder = (*recorder)(nil)

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, _, _, _, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count, r.bytes = map[string]int{}, map[string]int{}
	}
	if of, err := meta.Accessor(regarding); err == nil {
		r.count[of.GetNamespace()]++
		r.bytes[of.GetNamespace()] += len(fmt.Sprintf(note, args...))
	}
}

// Header implements http.ResponseWriter.
func (r *reader) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *reader) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *reader) Write(body []byte) (int, error) { return len(body), nil }

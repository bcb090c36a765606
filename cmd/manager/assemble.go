package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// environment is what a process gives the manager that it builds.
type environment struct {
	operator *config.Operator // what flags, environment and file say
	kube     connection
	log      logr.Logger
	level    *logging.Level // of log
}

// assemble builds the manager from its parts. ctx is for what is read on the way.
func assemble(ctx context.Context, on environment) (manager.Manager, error) {
	process, kube, log := on.operator, on.kube, on.log
	store, err := process.NewStore()
	if err != nil {
		return nil, err
	}
	sources, err := readConfigMaps(ctx, kube.reader, process)
	if err != nil {
		return nil, err
	}
	operators, err := candidates(process, store, sources, log)
	if err != nil {
		return nil, err
	}
	settings := &inForce{process: process, level: on.level}
	book := ledger.New()
	around := &explaining{}
	mgr, ready, err := newManager(operators[0], kube, log)
	if err != nil {
		return nil, err
	}
	instruments := metrics.New(ctrlmetrics.Registry, clock.RealClock{}, metrics.Options{
		ControllerInstance: process.ControllerInstance, LegacyNames: process.LegacyMetricNames,
	})
	limits, over := process.Budget.Limits, budget.NewBook(instruments.LeftOut)
	recorder := controller.Budgeted(mgr.GetEventRecorder(eventSource), clock.RealClock{}, limits, over)
	served := discovery.Served{Reader: mgr.GetClient()}
	scales := scale.New(mgr.GetClient())
	fleet := discovery.New(served, scales)
	fleet.By, fleet.Limits, fleet.Left = scalers.New(mgr.GetCache()), limits, over
	fleet.UnitCost = func(namespace, accelerator string) (float64, bool) {
		unit, ok := store.Snapshot().UnitCost(namespace, accelerator)
		return unit.Cost, ok
	}
	policies := policies{store: store, classes: fleet.ClassRefs}
	*around = explaining{policies: policies, scalers: fleet.Scalers, startUps: fleet.StartUps, objects: mgr.GetClient()}
	observe := func(took time.Duration, err error) { instruments.ObserveQuery("scrape", metrics.OutcomeOf(err), took) }
	gate, err := newGate(gateOptions{
		verified: operators[0].Collector.Scrape, operator: settings.now, cluster: fleet, memory: book, observe: observe, limits: limits,
		wake: func(reason string) { settings.cycles.Hurry(reason) },
	})
	if err != nil {
		return nil, err
	}
	quiet := collector.NewIdleTracker(policies.retention)
	if err := settings.start(operators, tools{
		backends: backends(), instruments: instruments, hasObjective: policies.hasObjective, objective: policies.objective, idle: quiet, waiting: gate.Waiting,
		surroundings: surroundings{log: log, cluster: fleet, observe: observe, over: over},
	}); err != nil {
		return nil, err
	}
	configuration, listed, err := newConfiguration(mgr, settings, store, allotment{served: served, recorder: recorder, over: over}, book)
	if err != nil {
		return nil, err
	}
	ready["configuration"] = told(log, listed)
	exports := &external.Store{}
	hand := subresource.New(subresource.Options{
		Objects: mgr.GetClient(), Scalers: fleet, Scales: scales, Pods: mgr.GetClient(),
		Count: instruments.CountScaleUpdate,
	})
	act := actuator.New(actuator.Options{Metrics: instruments, Store: exports, Memory: book, Scaler: hand})
	settings.fetching = newFetching(settings.now, settings.cycles, &watch.Watch{
		Clock: clock.RealClock{}, Cluster: fleet, Collector: settings.meter, Memory: book,
		Analyze: watch.By(func(m scaling.ModelKey) model.Settings { return policies.decides(m).Settings }),
		Observe: func(err error) { instruments.CountBackgroundFetch(metrics.OutcomeOf(err)) },
	})
	stock, err := newStock(kube, stockOptions{
		inventory: process.Inventory, interval: func() time.Duration { return settings.now().Interval },
		learnt: func() { settings.cycles.Trigger("the stock of accelerators became known") },
	})
	if err != nil {
		return nil, err
	}
	once := &cycle.Cycle{
		Process: cycle.NewProcess(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
		Clock:   clock.RealClock{}, Cluster: fleet, Collector: settings.meter, Recorder: book, Actuator: act,
		Policy: policies.decides, Stock: stock, Quotas: policies.quotas,
	}
	kept := newLearned(mgr, kube, process, learned{fleet: fleet, memory: book}, instruments)
	runnables := []manager.Runnable{
		configuration,
		controller.NewTriggers(mgr.GetCache(), settings.cycles.Trigger, settings.meter.forget),
		&loop{
			log: log, executor: settings.cycles, instruments: instruments, actuator: act, reader: served, memory: book, configured: configuration.Synced,
			cycle: once, learned: kept,
		},
		leading(settings.meter.run),
		leading(quiet.Run),
		leading(stock.Run),
		leading(gate.run),
		settings.fetching.run(log),
	}
	runnables = append(runnables, kept.runs()...)
	if process.ExternalMetricsBindAddress != "" {
		server, err := newExternalMetrics(process, mgr, served, exports) //nolint:contextcheck // it gets its context from Start
		if err != nil {
			return nil, err
		}
		runnables = append(runnables, everywhere{server})
	}
	if process.Recording.File != "" {
		recording, err := newRecording(process.Recording, log, instruments)
		if err != nil {
			return nil, err
		}
		once.Archive = recording
		runnables = append(runnables, leading(recording.file.Run))
	}
	if err := add(mgr, runnables); err != nil {
		return nil, err
	}
	status := controller.NewStatus(controller.StatusOptions{
		Objects: controller.NewObjectClient(mgr.GetClient()), Ledger: book, Conflicts: fleet, Scalers: fleet, TargetScaler: hand, Configured: configuration, Classes: fleet,
		Events: recorder, Gauge: instruments, Allotted: fleet, Budget: limits, Over: over,
	})
	if err := status.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	//nolint:contextcheck // ports are open for as long as the manager lives
	return mgr, servePorts(mgr, operators[0], ready, debugged{memory: book, around: around, measure: settings})
}

// add has the manager start what runs in it, in this order.
func add(mgr manager.Manager, runnables []manager.Runnable) error {
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return fmt.Errorf("building the manager: %w", err)
		}
	}
	return nil
}

// connection is how the API server is reached.
type connection struct {
	scheme *runtime.Scheme
	config *rest.Config
	reader client.Reader // without a cache
}

// newConnection returns a connection. It contacts nothing.
func newConnection(o *config.Operator) (connection, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return connection{}, fmt.Errorf("building the scheme: %w", err)
		}
	}
	to, err := ctrl.GetConfig()
	if err != nil {
		return connection{}, fmt.Errorf("finding the API server: %w", err)
	}
	to.Timeout = o.RESTClientTimeout
	reader, err := client.New(to, client.Options{Scheme: scheme})
	if err != nil {
		return connection{}, fmt.Errorf("reaching the API server: %w", err)
	}
	return connection{scheme: scheme, config: to, reader: reader}, nil
}

// newManager returns the frame that everything runs in, caches and leader election,
// and what says whether they are ready.
func newManager(o *config.Operator, kube connection, log logr.Logger) (manager.Manager, map[string]healthz.Checker, error) {
	if err := checkMetricsCertificate(o); err != nil {
		return nil, nil, err
	}
	caches, options := &watched{clock: clock.RealClock{}}, cacheOptions(o)
	options.DefaultWatchErrorHandler = caches.note
	var mgr manager.Manager
	lead, err := newLead(o, kube.config, func() manager.Manager { return mgr })
	if err != nil {
		return nil, nil, err
	}
	to := rest.CopyConfig(kube.config)
	var lock resourcelock.Interface // nil and not of a type where nobody is elected
	if lead != nil {
		to.Wrap(lead.guard)
		lock = lead
	}
	mgr, err = ctrl.NewManager(to, ctrl.Options{
		Scheme: kube.scheme, Logger: log, Cache: options, NewCache: newCache,
		// Its own servers hold a megabyte of headers for each of any number of
		// connections: see ports.go.
		Metrics: metricsserver.Options{BindAddress: off}, HealthProbeBindAddress: off,
		LeaderElection: o.LeaderElect, LeaderElectionResourceLockInterface: lock, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &o.LeaseDuration, RenewDeadline: &o.LeaseRenewDeadline, RetryPeriod: &o.LeaseRetryPeriod,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("building the manager: %w", err)
	}
	caches.listed = mgr.GetCache().WaitForCacheSync
	ready := map[string]healthz.Checker{"caches": told(log, caches.check)}
	if lead != nil {
		if err := add(mgr, []manager.Runnable{leading(lead.run)}); err != nil {
			return nil, nil, err
		}
		leader := &leadership{
			clock: clock.RealClock{}, reader: kube.reader, lease: client.ObjectKey{Namespace: o.SystemNamespace, Name: o.LeaderElectionID},
			duration: o.LeaseDuration, elected: mgr.Elected(),
		}
		ready["leader"] = told(log, leader.check)
	}
	return mgr, ready, nil
}

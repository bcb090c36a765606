package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	k8sdiscovery "k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// environment holds the process-wide inputs of the manager.
type environment struct {
	operator *config.Operator // from flags, environment and file
	kube     connection
	log      logr.Logger
	level    *logging.Level // of log
}

// assemble builds the manager from its parts. Each step takes results of earlier steps, so the
// compiler checks their order. ctx bounds the reads on the way.
func assemble(ctx context.Context, on environment) (manager.Manager, error) {
	// 1. Read the configuration: flags, environment and file, then the ConfigMaps.
	begin, err := readConfiguration(ctx, on)
	if err != nil {
		return nil, err
	}
	best := begin.candidates[0]

	// 2. Build the frame: clients, caches, leader election.
	mgr, ready, err := newFrame(best, on.kube, on.log)
	if err != nil {
		return nil, err
	}

	// 3. Build what all parts share: metrics, events, budgets, memory, the fleet.
	c, err := newCommon(on, mgr, begin.store) //nolint:contextcheck // what the history reads later is in a cache
	if err != nil {
		return nil, err
	}

	// 4. Measure the fleet, by the first configuration whose backend can be built.
	measure, err := newMeasurement(c, begin.candidates)
	if err != nil {
		return nil, err
	}

	// 5. Follow the ConfigMaps as they change.
	configuration, known, err := newConfiguration(c, begin, measure)
	if err != nil {
		return nil, err
	}

	// 6. Decide, and carry decisions out.
	deciding, err := newDeciding(c, measure, configuration)
	if err != nil {
		return nil, err
	}

	// 7. Show decisions: status, conditions and events; the External Metrics API; the external
	// scaler.
	if err := newStatus(c, deciding, configuration).SetupWithManager(mgr); err != nil {
		return nil, err
	}
	published, err := newExternalMetrics(c, deciding.exports) //nolint:contextcheck // it gets its context from Start
	if err != nil {
		return nil, err
	}

	scaler, err := newExternalScaler(c, deciding.exports) //nolint:contextcheck // it gets its context from Start
	if err != nil {
		return nil, err
	}

	// 8. Run all of it, at the same time.
	if err := add(mgr, slices.Concat(measure.runs, deciding.runs, published, scaler,
		[]manager.Runnable{configuration, everywhere{c.scalers.Release}})); err != nil {
		return nil, err
	}

	// 9. Serve the probes, the metrics and the debug paths.
	ready["configuration"] = known
	//nolint:contextcheck // ports are open for as long as the manager lives
	return mgr, servePorts(mgr, best, ready, debugged{memory: c.memory, around: newExplaining(c), cycles: c.last, history: c.history, measure: measure.meter})
}

// common holds the parts that most other parts are built from.
type common struct {
	environment
	mgr         manager.Manager
	instruments *metrics.Metrics
	recorder    events.EventRecorder // of events within the budgets
	over        *budget.LeftOut      // the namespaces beyond their budgets
	memory      *ledger.Ledger
	last        *cycle.Last      // the last decided case
	history     *history.History // of the fleet
	served      discovery.Served // the objects that this manager serves
	decisions   *store.Decisions // on variants without a VariantAutoscaling
	scalers     *scalers.Reader
	scales      *scale.Client
	fleet       *discovery.Cluster
	policies    policies
}

// newCommon builds the parts that most other parts are built from.
func newCommon(on environment, mgr manager.Manager, settings *config.Store) (common, error) {
	process, scales, by := on.operator, scale.New(mgr.GetClient()), scalers.New(mgr.GetCache(), clock.RealClock{})
	by.ServesMetrics = process.ExternalMetricsBindAddress != ""
	instruments := metrics.New(ctrlmetrics.Registry, clock.RealClock{}, metrics.Options{
		ControllerInstance: process.ControllerInstance, LegacyNames: process.LegacyMetricNames,
	})
	decisions := store.NewDecisions(storeOptions(on, mgr, instruments), process.StoreLearned)
	served := discovery.Served{Reader: mgr.GetClient(), Annotated: &scalers.Annotated{
		Reader: by, On: func() bool { return settings.Snapshot().Settings().AnnotatedScalers }, Instance: process.ControllerInstance,
		Statuses: decisions,
	}}
	over := budget.NewLeftOut(instruments.LeftOut)
	var err error
	if by.Release, err = newRelease(mgr); err != nil {
		return common{}, err
	}
	fleet := discovery.New(served, scales)
	fleet.By, fleet.Limits, fleet.Left = by, process.Budget.Limits, over
	fleet.UnitCost = func(namespace, accelerator string) (float64, bool) {
		unit, ok := settings.Snapshot().UnitCost(namespace, accelerator)
		return unit.Cost, ok
	}
	fleet.Advisory = func() bool { return settings.Snapshot().Settings().Advisory }
	return common{
		environment: on, mgr: mgr, instruments: instruments, over: over, memory: ledger.New(), last: new(cycle.Last),
		history:   newHistory(served),
		recorder:  controller.Budgeted(mgr.GetEventRecorder(eventSource), clock.RealClock{}, process.Budget.Limits, over),
		decisions: decisions, scalers: by,
		served: served, scales: scales, fleet: fleet, policies: policies{store: settings, classes: fleet.ClassRefs},
	}, nil
}

// newRelease returns a reader of the release of the API server.
func newRelease(mgr manager.Manager) (*scalers.Release, error) {
	client, err := k8sdiscovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("building the client that asks for the release of Kubernetes: %w", err)
	}
	return scalers.NewRelease(clock.RealClock{}, client.ServerVersionWithContext), nil
}

// limits returns the budget of each namespace.
func (c common) limits() budget.Limits { return c.operator.Budget.Limits }

// newStatus returns the writer of the status of objects.
func newStatus(c common, d deciding, configuration *controller.Configuration) *controller.Status {
	return controller.NewStatus(controller.StatusOptions{
		Objects: controller.NewObjectClient(c.served, c.mgr.GetClient(), c.decisions), Ledger: c.memory, Conflicts: c.fleet, Scalers: c.fleet, TargetScaler: d.scaler,
		Configured: configuration, Classes: c.fleet, Events: c.recorder, Gauge: c.instruments, Allotted: c.fleet, Budget: c.limits(), Over: c.over,
	})
}

// add adds runnables to the manager, which runs all of them at the same time.
func add(mgr manager.Manager, runnables []manager.Runnable) error {
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return fmt.Errorf("building the manager: %w", err)
		}
	}
	return nil
}

// connection is the access to the API server.
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

// newFrame returns the manager with its caches and leader election, and the checks whether they are
// ready.
func newFrame(o *config.Operator, kube connection, log logr.Logger) (manager.Manager, map[string]healthz.Checker, error) {
	if err := checkMetricsCertificate(o); err != nil {
		return nil, nil, err
	}
	refused, options := &refusals{clock: clock.RealClock{}}, cacheOptions(o)
	options.DefaultWatchErrorHandler = refused.note
	var mgr manager.Manager
	lead, err := newLead(o, kube.config, func() manager.Manager { return mgr })
	if err != nil {
		return nil, nil, err
	}
	to := rest.CopyConfig(kube.config)
	var lock resourcelock.Interface // nil and not of a type without leader election
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
	caches := &watched{refusals: refused, listed: mgr.GetCache().WaitForCacheSync}
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

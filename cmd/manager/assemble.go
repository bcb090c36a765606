package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	enginesaturation "github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// assemble builds the manager from its parts.
func assemble(o *config.Operator, log logr.Logger) (manager.Manager, error) {
	mode, err := executor.ParseMode(o.Executor)
	if err != nil {
		return nil, err
	}
	book := ledger.New()
	store := newKept(o.Collector.Cache)
	mgr, err := newManager(o, log, debugHandlers(web.Decisions(book), store.handler()))
	if err != nil {
		return nil, err
	}
	instruments := metrics.New(ctrlmetrics.Registry, clock.RealClock{}, metrics.Options{
		ControllerInstance: o.ControllerInstance, LegacyNames: o.LegacyMetricNames,
	})
	exports := &external.Store{}
	act := actuator.New(instruments, exports, book)
	fleet := discovery.New(mgr.GetClient(), discovery.NewScaleClient(mgr.GetClient()))
	fleet.Watches = mgr.GetCache()
	from, err := newBackend(backends(), surroundings{
		operator: o, log: log, cluster: fleet,
		observe: func(took time.Duration, err error) { instruments.ObserveQuery("scrape", metrics.OutcomeOf(err), took) },
	})
	if err != nil {
		return nil, err
	}
	measure := newCollector(measuring{
		operator: o, source: from.source, store: store, instruments: instruments, hasObjective: fleet.HasObjective,
	})
	policy := saturation.Default()
	analyze := enginesaturation.Analyzer(func(scaling.ModelKey) saturation.Policy { return policy })
	exec := executor.New(clock.RealClock{}, mode, func() time.Duration { return o.Interval })
	runnables := []manager.Runnable{
		controller.NewTriggers(mgr.GetCache(), exec.Trigger, store.forget),
		&loop{
			log: log, executor: exec, instruments: instruments, actuator: act, reader: mgr.GetClient(), memory: book,
			cycle: &cycle.Cycle{
				Process: cycle.NewProcess(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
				Clock:   clock.RealClock{}, Cluster: fleet, Collector: measure, Analyze: analyze, Recorder: book, Actuator: act,
			},
		},
	}
	if o.Collector.Cache.Background() {
		runnables = append(runnables, background(log, o.FetchInterval(), &watch.Watch{
			Clock: clock.RealClock{}, Cluster: fleet, Collector: measure, Analyze: analyze, Memory: book,
			Wake: wakes(mode, exec), Alone: mode == executor.Reactive,
			Observe: func(err error) { instruments.CountBackgroundFetch(metrics.OutcomeOf(err)) },
		}))
	}
	for _, run := range []leading{store.run, from.run} {
		if run != nil {
			runnables = append(runnables, run)
		}
	}
	if o.ExternalMetricsBindAddress != "" {
		server, err := newExternalMetrics(o, mgr, exports, log)
		if err != nil {
			return nil, err
		}
		runnables = append(runnables, everywhere{server})
	}
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return nil, fmt.Errorf("building the manager: %w", err)
		}
	}
	status := controller.NewStatus(controller.StatusOptions{
		Objects: controller.NewObjectClient(mgr.GetClient()), Ledger: book, Conflicts: fleet, Scalers: fleet,
		Events: mgr.GetEventRecorder(eventSource),
	})
	return mgr, status.SetupWithManager(mgr)
}

// newManager returns the frame that everything runs in: caches, leader
// election, probes, and the authenticated port.
func newManager(o *config.Operator, log logr.Logger, debug map[string]http.Handler) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	rest, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	rest.Timeout = o.RESTClientTimeout
	mgr, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme: scheme, Logger: log, Cache: cacheOptions(o), NewCache: newCache, Metrics: metricsOptions(o, debug),
		HealthProbeBindAddress: o.HealthProbeBindAddress,
		LeaderElection:         o.LeaderElect, LeaderElectionID: o.LeaderElectionID, LeaderElectionNamespace: o.SystemNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration, RenewDeadline: &o.LeaseRenewDeadline, RetryPeriod: &o.LeaseRetryPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	return mgr, nil
}

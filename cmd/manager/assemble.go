package main

import (
	"fmt"
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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	enginesaturation "github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// assemble builds the manager from its parts.
func assemble(o *config.Operator, log logr.Logger) (manager.Manager, error) {
	book := ledger.New()
	mgr, err := newManager(o, log, book)
	if err != nil {
		return nil, err
	}
	instruments := metrics.New(ctrlmetrics.Registry, clock.RealClock{}, metrics.Options{ControllerInstance: o.ControllerInstance})
	source, err := newSource(o.Prometheus, log)
	if err != nil {
		return nil, err
	}
	store := &external.Store{}
	act := actuator.New(instruments, store, book)
	fleet := discovery.New(mgr.GetClient(), discovery.NewScaleClient(mgr.GetClient()))
	exec := executor.New(clock.RealClock{}, func() time.Duration { return o.Interval })
	policy := saturation.Default()
	runnables := []manager.Runnable{
		controller.NewTriggers(mgr.GetCache(), exec.Trigger),
		&loop{
			log: log, executor: exec, instruments: instruments, actuator: act, reader: mgr.GetClient(), memory: book,
			cycle: &cycle.Cycle{
				Clock: clock.RealClock{}, Cluster: fleet, Recorder: book, Actuator: act,
				Analyze: enginesaturation.Analyzer(func(scaling.ModelKey) saturation.Policy { return policy }),
				Collector: collector.New(source, clock.RealClock{}, collector.Options{
					QueryTimeout: o.Prometheus.Timeout,
					Observe: func(name string, took time.Duration, err error) {
						instruments.ObserveQuery(name, metrics.OutcomeOf(err), took)
					},
				}),
			},
		},
	}
	if o.ExternalMetricsBindAddress != "" {
		server, err := newExternalMetrics(o, mgr, store, log)
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
		Objects: controller.NewObjectClient(mgr.GetClient()), Ledger: book, Conflicts: fleet,
		Events: mgr.GetEventRecorder("workload-variant-autoscaler"),
	})
	return mgr, status.SetupWithManager(mgr)
}

// newManager returns the frame that everything runs in: caches, leader
// election, probes, and the authenticated port.
func newManager(o *config.Operator, log logr.Logger, book *ledger.Ledger) (manager.Manager, error) {
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
		Scheme: scheme, Logger: log, Cache: cacheOptions(o), NewCache: newCache, Metrics: metricsOptions(o, web.Decisions(book)),
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

// newSource connects to Prometheus. It asks nothing yet: a Prometheus that is
// not there is found out, and reported, by the first cycle.
func newSource(p config.Prometheus, log logr.Logger) (*prometheus.Source, error) {
	source, err := prometheus.New(prometheus.Config{
		URL: p.BaseURL, AllowInsecure: p.AllowInsecure, CACertPath: p.CACertPath, ClientCertPath: p.ClientCertPath,
		ClientKeyPath: p.ClientKeyPath, ServerName: p.ServerName, InsecureSkipVerify: p.InsecureSkipVerify,
		BearerToken: p.BearerToken, TokenPath: p.TokenPath, Username: p.Username, Password: p.Password,
		Headers: p.Headers, Timeout: p.Timeout,
		OnWarning: func(expr string, warnings []string) {
			log.V(1).Info("query answered with warnings", "query", expr, "reason", warnings)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configuring Prometheus (--prometheus-*, and --allow-insecure-prometheus for http): %w", err)
	}
	return source, nil
}

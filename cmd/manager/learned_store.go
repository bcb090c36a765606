package main

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// learned stores what a process has learned for the next one. Nil stores nothing.
type learned struct {
	store    *store.Store
	startUps *store.Entries[memory.VariantStartUps]
	fits     *store.Entries[memory.VariantFits]
	fleet    *discovery.Cluster
	memory   *ledger.Ledger
}

// newLearned returns the store of what is learned about the fleet, nil where none is configured.
func newLearned(c common) *learned {
	if !c.operator.StoreLearned {
		return nil
	}
	return learned{fleet: c.fleet, memory: c.memory}.in(store.New(storeOptions(c.environment, c.mgr, c.instruments)))
}

// storeOptions returns the options of a store of this manager.
func storeOptions(on environment, mgr manager.Manager, instruments *metrics.Metrics) store.Options {
	return store.Options{
		Namespace: on.operator.SystemNamespace, Log: on.log, Clock: clock.RealClock{}, Events: mgr.GetEventRecorder(eventSource),
		// Not the manager's cache: it would watch every ConfigMap.
		Objects: struct {
			client.Reader
			client.Writer
		}{on.kube.reader, mgr.GetClient()},
		Lost: func() { instruments.CountError("store") },
	}
}

// in returns l with a store.
func (l learned) in(s *store.Store) *learned {
	l.store, l.startUps, l.fits = s, store.Add(s, store.StartUps()), store.Add(s, store.Fits())
	return &l
}

// restore loads what the last process has learned.
func (l *learned) restore(ctx context.Context) {
	if l != nil {
		l.fleet.RestoreStartUps(l.startUps.Load(ctx), clock.RealClock{}.Now())
		l.memory.RestoreFits(l.fits.Load(ctx))
	}
}

// keep passes what is known after a cycle to the store.
func (l *learned) keep() {
	if l != nil {
		l.startUps.Keep(l.fleet.AllStartUps())
		l.fits.Keep(l.memory.Fits())
	}
}

// runs returns the runnable that writes the store, none where nothing is stored.
func (l *learned) runs() []manager.Runnable {
	if l == nil {
		return nil
	}
	return []manager.Runnable{leading(l.store.Run)}
}

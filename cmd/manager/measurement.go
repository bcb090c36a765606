package main

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// measurement measures the fleet, and runs cycles when measurements ask for it.
type measurement struct {
	*applier // of changed settings
	runs     []manager.Runnable
}

// newMeasurement measures by the first candidate for which a backend can be built.
func newMeasurement(c common, candidates []*config.Operator) (measurement, error) {
	observe := func(took time.Duration, err error) {
		c.instruments.ObserveQuery("scrape", metrics.OutcomeOf(err), took)
	}
	around := surroundings{log: c.log, cluster: c.fleet, observe: observe, over: c.over}
	operator, from, err := firstBackend(backends(), around, candidates)
	if err != nil {
		return measurement{}, err
	}
	now, err := newInForce(c.environment, operator)
	if err != nil {
		return measurement{}, err
	}
	gate, err := newGate(gateOptions{
		verified: operator.Collector.Scrape, operator: now.now, cluster: c.fleet, memory: c.memory, observe: observe, limits: c.limits(),
		wake: now.cycles.Hurry,
	})
	if err != nil {
		return measurement{}, err
	}
	idle := collector.NewIdleTracker(c.policies.retention)
	meter := newMeter(tools{
		backends: backends(), surroundings: around, instruments: c.instruments,
		hasObjective: c.policies.hasObjective, objective: c.policies.objective, idle: idle, waiting: gate.Waiting,
	}, operator, from)
	fetching := newFetching(now.now, now.cycles, &watch.Watch{
		Clock: clock.RealClock{}, Cluster: c.fleet, Collector: meter, Memory: c.memory,
		Analyze: watch.By(c.policies.decides),
		Observe: func(err error) { c.instruments.CountBackgroundFetch(metrics.OutcomeOf(err)) },
	})
	return measurement{applier: &applier{inForce: now, meter: meter, fetching: fetching}, runs: []manager.Runnable{
		leading(meter.run), leading(idle.Run), leading(gate.run), fetching.run(c.log),
	}}, nil
}

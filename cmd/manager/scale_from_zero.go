package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// gateInterval is the time between two looks at the gateway while a model has no replica. The
	// gate then mostly sees a request a quarter of a second after it began to wait.
	gateInterval = 200 * time.Millisecond
	// gateTimeout bounds one scrape; the others continue meanwhile.
	gateTimeout = 2 * time.Second
	// pickersFor is how long a list of endpoint pickers is used.
	pickersFor = 2 * time.Second
)

// gateOptions are the inputs of a gate.
type gateOptions struct {
	verified config.Scrape           // how pages are verified
	operator func() *config.Operator // in force
	cluster  cluster
	memory   interface {
		Latest() (memory.Record, bool)
	}
	limits  budget.Limits // of the pages kept of each namespace
	wake    func(reason string)
	observe func(took time.Duration, err error)
}

// gate scrapes the endpoint pickers of namespaces with a model that has no replica, with any
// backend.
type gate struct {
	*collector.Gate
	gateOptions
	source *scrape.Source

	mu       sync.Mutex
	last     scaling.CycleID
	sleepers []collector.Sleeper // of the last cycle
	listed   time.Time
	pickers  []scrape.Target
}

// newGate returns a gate. It contacts nothing.
func newGate(o gateOptions) (*gate, error) {
	client, err := newScrapeClient(o.verified)
	if err != nil {
		return nil, fmt.Errorf("configuring what pages are verified by (--scrape-*): %w", err)
	}
	g := &gate{gateOptions: o}
	g.source = scrape.New(clock.RealClock{}, scrape.Options{
		Name: "gate", Interval: gateInterval, Timeout: gateTimeout, Client: client, Pickers: g.targets, Observe: o.observe, Limits: o.limits,
		Authorize: func(req *http.Request) error {
			s := o.operator().Collector.Scrape
			if authorize := bearer(s.PickerToken, s.PickerTokenPath); authorize != nil {
				return authorize(req)
			}
			return nil
		},
	})
	g.Gate = &collector.Gate{Source: g.source, Clock: clock.RealClock{}, Models: g.models, Wake: o.wake}
	return g, nil
}

// run scrapes and looks until ctx ends.
func (g *gate) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.source.Run(ctx) })
	group.Go(func() error {
		ticker := clock.RealClock{}.NewTicker(gateInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C():
				g.Look(ctx)
			}
		}
	})
	return group.Wait()
}

// models returns the models of the last cycle.
func (g *gate) models() []collector.Sleeper {
	record, ok := g.memory.Latest()
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok && record.Cycle != g.last {
		g.last, g.sleepers = record.Cycle, sleepers(record)
	}
	return g.sleepers
}

// sleepers returns the models of a cycle.
func sleepers(r memory.Record) []collector.Sleeper {
	absent := map[scaling.VariantKey]bool{}
	for _, v := range r.Fleet.Variants {
		absent[v.Key] = r.History.Absent(v, r.Fleet.At)
	}
	ordered := map[scaling.ModelKey]int{}
	for _, d := range r.Plan.Decisions {
		if !absent[d.Variant] {
			ordered[d.Model] += int(d.Target())
		}
	}
	var out []collector.Sleeper
	for _, m := range r.Fleet.Models() {
		ready := slices.ContainsFunc(m.Variants, func(v scaling.Variant) bool { return r.History.MayServe(v, r.Fleet.At) })
		out = append(out, collector.Sleeper{Model: m.Model, Idle: !ready || ordered[m.Model] == 0, Ordered: ordered[m.Model] > 0})
	}
	return out
}

// targets lists the endpoint pickers of the namespaces in which a model has no replica: mostly
// none.
func (g *gate) targets(ctx context.Context) ([]scrape.Target, error) {
	idle := map[string]bool{}
	for _, m := range g.models() {
		if m.Idle {
			idle[m.Model.Namespace] = true
		}
	}
	settings := g.operator().Collector.Scrape
	selector, err := labels.Parse(settings.PickerSelector)
	if err != nil || selector.Empty() || len(idle) == 0 {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := (clock.RealClock{}).Now(); now.Sub(g.listed) >= pickersFor {
		pages, err := g.cluster.Pickers(ctx, selector)
		if err != nil {
			return nil, err
		}
		g.listed, g.pickers = now, at(settings.PickerPort, targets(pages))
	}
	return slices.DeleteFunc(slices.Clone(g.pickers), func(t scrape.Target) bool { return !idle[t.Namespace] }), nil
}

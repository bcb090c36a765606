package monitoring

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// Times of a recording.
const (
	// Interval is the scrape interval of everything, and the time between two cycles:
	// the defaults of Prometheus and of GLOBAL_OPT_INTERVAL.
	Interval = time.Minute
	// scrapedAfter is the time from a cycle to the scrape of the manager. Pods are scraped at
	// various times in the minute before the cycle.
	scrapedAfter = 25 * time.Second
	// followAfter is the time that the scaler and the start of pods take.
	followAfter = 90 * time.Second
	// staleAfter is the age from which a page does not count.
	staleAfter = 5 * time.Minute
)

// Recording says what to record.
type Recording struct {
	Fault Fault
	Begin time.Time
	// Before and After are the times that the fleet is recorded before and after the fault begins,
	// multiples of a minute.
	Before, After time.Duration
	// HonorLabels is whether Prometheus leaves the manager's own namespace labels
	// alone; its default is false, which makes them exported_namespace.
	HonorLabels bool
	// Empty is a cluster with a manager and without a VariantAutoscaling.
	Empty bool
	// Classless is a fleet whose models are in no service class.
	Classless bool
	// Idle is a fleet that gets no request.
	Idle bool
	// Prefixes are the prefixes of vLLM's metrics: each page is stored under each of them, by a job
	// of its own. None means vLLM's own.
	Prefixes []string
}

// End returns the time of the last scrape.
func (r Recording) End() time.Time { return r.Begin.Add(r.Before + r.After + scrapedAfter) }

// fleet is a small fleet with its manager, as Prometheus records them.
type fleet struct {
	Recording

	store    *store.Store
	clock    *testingclock.FakePassiveClock
	variants []*variant
	manager  *manager
	orders   map[*variant]order
}

// order is the latest decision, which the scaler carries out after followAfter.
type order struct {
	replicas int
	since    time.Time
}

// Record writes the scrapes of the fleet to a store.
func (r Recording) Record(ctx context.Context, s *store.Store) error {
	f := &fleet{Recording: r, store: s, clock: testingclock.NewFakePassiveClock(r.Begin), orders: map[*variant]order{}}
	if !r.Empty {
		f.variants = f.models()
	}
	f.manager = newManager(f)
	for at := r.Begin; !at.After(r.End()); at = at.Add(Interval) {
		f.clock.SetTime(at)
		if err := f.step(ctx, at); err != nil {
			return fmt.Errorf("recording %s at %v: %w", r.Fault, at.Sub(r.Begin), err)
		}
	}
	return nil
}

// models returns three models in two namespaces, each with one variant and the replicas that its
// load needs.
func (f *fleet) models() []*variant {
	of := func(namespace, model, name, accelerator string, cost, perReplica, base float64, phase time.Duration) *variant {
		v := &variant{perReplica: perReplica, base: base, phase: phase, hit: name == "llama-h100"}
		if !f.Classless && name != "coder-32b-a100" { // a model that no service class holds
			v.objective = scaling.Objective{TTFT: 1000, ITL: 50}
		}
		v.Variant = scaling.Variant{
			Key:         scaling.VariantKey{Namespace: namespace, Name: name},
			Model:       scaling.ModelKey{Namespace: namespace, ID: model},
			Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Accelerator: accelerator, GPUsPerReplica: 1, Cost: cost, Bounds: scaling.Unbounded(),
			Paused: f.Fault == Paused && name == "llama-h100",
		}
		if f.Idle {
			v.base = 0
		}
		v.desired = 1
		for v.wanted(v.rate(0)) > v.desired {
			v.desired++
		}
		v.prefixes = f.Prefixes
		v.run(f.store, v.desired)
		return v
	}
	return []*variant{
		of("chat", "meta/llama-3.1-8b", "llama-h100", "H100", 4.2, 6, 15, 0),
		of("code", "qwen/qwen2.5-coder-7b", "coder-l40s", "L40S", 1.1, 3, 5, 95*time.Minute),
		of("code", "qwen/qwen2.5-coder-32b", "coder-32b-a100", "A100", 2.4, 2, 4, 190*time.Minute),
	}
}

// faulty reports whether the fault has begun.
func (f *fleet) faulty(at time.Time) bool { return !at.Before(f.Begin.Add(f.Before)) }

// fault returns the fault at a time.
func (f *fleet) fault(at time.Time) Fault {
	if f.faulty(at) {
		return f.Fault
	}
	return Healthy
}

// step simulates the time between two scrapes, and the second of them.
func (f *fleet) step(ctx context.Context, at time.Time) error {
	fault := f.fault(at)
	for _, v := range f.variants {
		if err := f.follow(ctx, v, at, fault); err != nil {
			return err
		}
		v.serve(v.rate(at.Sub(f.Begin)), Interval, fault)
		for i, p := range v.pods {
			p.dark = v.hit && (fault == Blind || fault == Paused || fault == HalfBlind && i == 0)
			if err := f.scrape(ctx, p, at); err != nil {
				return err
			}
		}
	}
	if fault.cycles() {
		if err := f.cycle(at, fault); err != nil {
			return err
		}
	}
	f.clock.SetTime(at.Add(scrapedAfter))
	return f.manager.scrape(ctx, at.Add(scrapedAfter), fault)
}

// scrape stores the page of a pod, or the end of its series, at the pod's time before the cycle.
func (f *fleet) scrape(ctx context.Context, p *pod, cycle time.Time) error {
	at := cycle.Add(-p.offset)
	if p.dark {
		return p.fail(ctx, at)
	}
	p.scraped = at
	text := p.Page()
	for _, t := range p.targets {
		if err := t.Scrape(ctx, at, bytes.ReplaceAll(text, []byte("vllm:"), []byte(t.prefix))); err != nil {
			return err
		}
	}
	return nil
}

// fail stores the end of the series of a pod.
func (p *pod) fail(ctx context.Context, at time.Time) error {
	for _, t := range p.targets {
		if err := t.Fail(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// follow lets the scaler and the scheduler carry out a decision after followAfter. The series of a
// removed pod end at once.
func (f *fleet) follow(ctx context.Context, v *variant, at time.Time, fault Fault) error {
	if o, ok := f.orders[v]; !ok || o.replicas != v.desired {
		f.orders[v] = order{v.desired, at}
	}
	if v.hit && (fault == Ignored || fault == Orphaned || fault.stuck()) || at.Sub(f.orders[v].since) < followAfter {
		return nil
	}
	for _, p := range v.pods[min(v.desired, len(v.pods)):] {
		if err := p.fail(ctx, at); err != nil {
			return err
		}
	}
	v.run(f.store, v.desired)
	return nil
}

// managerLabels returns the labels of the manager's target.
func (f *fleet) managerLabels() labels.Labels {
	set := []string{"job", "workload-variant-autoscaler-metrics", "instance", "10.0.0.7:8443", "pod", "manager-0"}
	if !f.HonorLabels {
		set = append(set, "namespace", "workload-variant-autoscaler-system")
	}
	return labels.FromStrings(set...)
}

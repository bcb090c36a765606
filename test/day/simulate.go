package day

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Machinery is the times that do not shrink with the day.
type Machinery struct {
	Interval time.Duration // of the cycles (GLOBAL_OPT_INTERVAL)
	Scrape   time.Duration // between scrapes of the metrics store
	Sync     time.Duration // between syncs of the HorizontalPodAutoscaler
	StartUp  sim.StartUp   // from the creation of a pod to Ready
	Drain    time.Duration // for which a deleted pod may finish its requests
}

// lead is how long a replica runs idle before the day begins.
const lead = time.Minute

// second is the interval in which replicas are counted.
const second = time.Second

// Outcome is the result of a day.
type Outcome struct {
	Requests     int                `json:"requests"`
	Attained     float64            `json:"attained"`     // share of the requests that met both objectives, ratio
	ReplicaHours float64            `json:"replicaHours"` // from the creation of a pod to its deletion
	Cost         float64            `json:"cost"`         // cost units
	TTFT         float64            `json:"ttft"`         // mean, ms
	ITL          float64            `json:"itl"`          // mean of the means of requests, ms
	Most         scaling.Replicas   `json:"most"`         // replicas at a time
	Changes      int                `json:"changes"`      // of the number of replicas
	Replicas     []scaling.Replicas `json:"-"`            // in each second of the day
}

// Count sets the fields that follow from the number of replicas in each second.
func (o *Outcome) Count(replicas []scaling.Replicas) {
	o.Replicas, o.Most, o.Changes = replicas, 0, 0
	sum := scaling.Replicas(0)
	for i, n := range replicas {
		sum += n
		o.Most = max(o.Most, n)
		if i > 0 && n != replicas[i-1] {
			o.Changes++
		}
	}
	o.ReplicaHours = (time.Duration(sum) * second).Hours()
	o.Cost = o.ReplicaHours * Cost
}

// Simulate runs a day with requests that the seed draws.
func (d Day) Simulate(ctx context.Context, m Machinery, seed uint64) (Outcome, error) {
	requests, err := d.Requests(seed)
	if err != nil {
		return Outcome{}, err
	}
	return d.SimulateRequests(ctx, m, seed, requests)
}

// SimulateRequests runs a day with given requests. The seed draws all else.
func (d Day) SimulateRequests(ctx context.Context, m Machinery, seed uint64, requests iter.Seq2[workload.Request, error]) (Outcome, error) {
	policy, err := engine(m)
	if err != nil {
		return Outcome{}, err
	}
	variant, err := m.variant()
	if err != nil {
		return Outcome{}, err
	}
	var replicas []scaling.Replicas
	report, err := sim.Run(ctx, sim.Config{
		Seed: seed, Sync: m.Sync, ScrapeInterval: m.Scrape, Interval: second, From: lead, Duration: lead + d.Length, Tail: 5 * time.Minute,
		Models: []sim.Model{{
			Key: scaling.ModelKey{Namespace: Namespace, ID: Model}, Requests: later(requests, lead),
			SLO:     sim.SLO{TTFT: float64(TTFT.Milliseconds()), ITL: float64(ITL.Milliseconds()), Attainment: Share},
			Routing: sim.LeastLoaded, Hold: 10 * time.Minute, Variants: []sim.Variant{variant},
		}},
		OnInterval: func(i sim.Interval) {
			if i.End > lead && i.End <= lead+d.Length {
				replicas = append(replicas, i.Variants[0].Wanted)
			}
		},
	}, policy)
	if err != nil {
		return Outcome{}, err
	}
	r := report.Models[0]
	o := Outcome{Requests: int(r.Counts.Arrived), Attained: r.Attainment, TTFT: r.TTFT.Mean, ITL: r.ITL.Mean}
	o.Count(replicas)
	return o, nil
}

// Both simulates the day once for each seed, with requests that the seed draws (curve) and with the
// requests drawn from one seed (same).
func (d Day) Both(ctx context.Context, m Machinery, seeds, requests uint64) (curve, same []Outcome, err error) {
	for seed := uint64(1); seed <= seeds; seed++ {
		o, err := d.Simulate(ctx, m, seed)
		if err != nil {
			return nil, nil, err
		}
		curve = append(curve, o)
		sent, err := d.Requests(requests)
		if err != nil {
			return nil, nil, err
		}
		if o, err = d.SimulateRequests(ctx, m, seed, sent); err != nil {
			return nil, nil, err
		}
		same = append(same, o)
	}
	return curve, same, nil
}

// later moves requests by some time.
func later(requests iter.Seq2[workload.Request, error], by time.Duration) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		for r, err := range requests {
			r.At += by
			if !yield(r, err) {
				return
			}
		}
	}
}

// variant returns the variant for the simulator.
func (m Machinery) variant() (sim.Variant, error) {
	profiles, err := emulator.BuiltInProfiles()
	if err != nil {
		return sim.Variant{}, err
	}
	p, ok := profiles[Profile]
	if !ok {
		return sim.Variant{}, fmt.Errorf("the emulator has no profile %q", Profile)
	}
	return sim.Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: Namespace, Name: Variant}, Accelerator: Accelerator, GPUsPerReplica: 1, Cost: Cost,
			Bounds: scaling.Bounds{Min: 1, Max: Most},
			Profile: scaling.Profile{
				Source: "variantProfile", Alpha: speed.alpha, Beta: speed.beta, Gamma: speed.gamma, Delta: speed.delta, MaxBatchSize: speed.batch,
			},
		},
		Profile: p, StartUp: m.StartUp, Replicas: 1, Grace: m.Drain,
	}, nil
}

// engine returns the autoscaler, configured by the ConfigMaps that the chart makes.
func engine(m Machinery) (*sim.Engine, error) {
	const anywhere = "system"
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: anywhere})
	if err != nil {
		return nil, fmt.Errorf("configuring the engine: %w", err)
	}
	entry, err := yaml.Marshal(Entry())
	class, classErr := yaml.Marshal(Class())
	if err := errors.Join(err, classErr); err != nil {
		return nil, fmt.Errorf("configuring the engine: %w", err)
	}
	names := config.PublishedNames()
	store.Apply([]config.Source{
		{Namespace: anywhere, Name: names[config.KindSettings][0], Data: map[string]string{"GLOBAL_OPT_INTERVAL": m.Interval.String()}},
		{Namespace: anywhere, Name: names[config.KindSaturation][0], Data: map[string]string{"default": string(entry)}},
		{Namespace: anywhere, Name: names[config.KindServiceClasses][0], Data: map[string]string{"chat": string(class)}},
	})
	for _, f := range store.Snapshot().Findings() {
		if f.Severity == config.Refused {
			return nil, fmt.Errorf("configuring the engine: %s: found %q, want %s", f.Field, f.Value, f.Want)
		}
	}
	inForce := store.Snapshot().Settings()
	mode, err := executor.ParseMode(inForce.Executor)
	if err != nil {
		return nil, fmt.Errorf("configuring the engine: %w", err)
	}
	return sim.NewEngine(sim.EngineOptions{
		Name: "hybrid", Interval: inForce.Interval, Executor: mode, Fetch: min(inForce.Cache.FetchInterval, inForce.Interval),
		Policy: func(key scaling.ModelKey) settings.Model { return store.Snapshot().Policy(key).Resolved() },
	}), nil
}

package report_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/report"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

const own = "saturation"

// few are the policies of the short runs that tests share.
var few = []string{own, "static", "hpa-kv", "kpa"}

// sample is the report of half an hour of real simulations, made once.
var sample = sync.OnceValues(func() (report.Document, error) {
	return simulate("sine(1->10,20m,30m)", 1, few)
})

func samplePage(tb testing.TB) report.Document {
	tb.Helper()
	p, err := sample()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// written is the file of a page.
func written(tb testing.TB, p report.Document) string {
	tb.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, p); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// simulate runs policies over a workload with so many seeds, on two variants.
func simulate(load string, seeds int, policies []string) (report.Document, error) {
	page := report.Document{Title: "Policies over a generated load", Commit: "0123abc"}
	scenario := report.Scenario{
		Name:        "one model on two accelerators",
		Description: "An 8B model on L40S at 2 cost units per replica-hour and on a card twice as fast at 5. Arrivals follow " + load + ", lengths ShareGPT; replicas take 2 minutes to start.",
		Objectives:  report.Objectives{TTFT: 1000, ITL: 40, Attainment: 0.95},
		Seed:        1,
	}
	for seed := range uint64(seeds) {
		page.Seeds = append(page.Seeds, seed+1)
	}
	for _, name := range policies {
		one, offered, err := runs(load, name, page.Seeds)
		if err != nil {
			return report.Document{}, fmt.Errorf("running %s: %w", name, err)
		}
		scenario.Policies, scenario.Offered = append(scenario.Policies, one), offered
	}
	if cost := scenario.Policies[0].Measures.Cost; cost.Known() {
		// A stand-in at about the right place: this package searches no schedule.
		scenario.Clairvoyant = report.Clairvoyant{Cost: report.SpreadOf(0.68 * cost.Mean), Attainment: report.SpreadOf(0.953)}
	}
	page.Scenarios = []report.Scenario{scenario}
	return page, nil
}

// runs tries one policy with each seed. What is drawn is of the first.
func runs(load, name string, seeds []uint64) (report.Result, []report.Point, error) {
	out := report.Result{Name: name, Own: name == own, Variants: []string{"fast", "l40s"}}
	var offered []report.Point
	measures := map[string][]float64{}
	for i, seed := range seeds {
		c, err := config(load, seed)
		if err != nil {
			return out, nil, err
		}
		if i == 0 {
			before := map[string]scaling.Replicas{"l40s": 1}
			c.OnInterval = func(v sim.Interval) {
				out.Samples = append(out.Samples, drawnSample(v))
				offered = append(offered, report.Point{At: v.End, Value: float64(v.Counts.Arrived) / v.Length.Seconds()})
			}
			c.OnDecision = func(at time.Duration, target sim.Target) {
				variant := target.Variant.Name
				out.Decisions = append(out.Decisions, report.Decision{
					At: at, Variant: variant, From: before[variant], To: target.Replicas, Reason: target.Detail,
				})
				before[variant] = target.Replicas
			}
		}
		p, err := newPolicy(name, c)
		if err != nil {
			return out, nil, err
		}
		r, err := sim.Run(context.Background(), c, p)
		if err != nil {
			return out, nil, err
		}
		measure(measures, r)
	}
	of := func(what string) report.Spread { return report.SpreadOf(measures[what]...) }
	out.Measures = report.Measures{
		Attainment: of("attainment"), Cost: of("cost"), Goodput: of("goodput"), ReplicaHours: of("hours"),
		TTFTP50: of("ttft50"), TTFTP90: of("ttft90"), TTFTP99: of("ttft99"),
		ITLP50: of("itl50"), ITLP90: of("itl90"), ITLP99: of("itl99"),
		Violation: of("violation"), ScaleEvents: of("events"), ColdStarts: of("cold"), Failed: of("failed"), Lost: of("lost"),
	}
	if name == "hpa-kv" {
		out.Parameters = []report.Parameter{{Name: "target", Value: "0.7", Default: "0.7", Tried: []string{"0.5", "0.6", "0.7", "0.8"}}}
	}
	return out, offered, nil
}

// drawnSample is an interval as the report shows it.
func drawnSample(v sim.Interval) report.Sample {
	s := report.Sample{At: v.End, Queued: float64(v.Waiting), TTFT: math.NaN(), ITL: math.NaN()}
	if v.Counts.Finished > 0 {
		s.TTFT, s.ITL = v.TTFT.P90, v.ITL.P90
	}
	for _, one := range v.Variants {
		s.Replicas = append(s.Replicas, one.Ready)
	}
	return s
}

func measure(into map[string][]float64, r sim.Report) {
	m := r.Models[0]
	add := func(what string, v float64) { into[what] = append(into[what], v) }
	add("attainment", m.Attainment)
	add("cost", m.Cost)
	add("goodput", m.Goodput)
	add("ttft50", m.TTFT.P50)
	add("ttft90", m.TTFT.P90)
	add("ttft99", m.TTFT.P99)
	add("itl50", m.ITL.P50)
	add("itl90", m.ITL.P90)
	add("itl99", m.ITL.P99)
	add("violation", m.Violation.Seconds()/r.Horizon.Seconds())
	add("failed", float64(m.Counts.Arrived-m.Counts.Finished))
	add("lost", float64(m.Counts.Lost))
	var hours, events, cold float64
	for _, v := range m.Variants {
		hours += v.ReplicaHours
		events += float64(v.Grown + v.Shrunk)
		cold += float64(v.ColdStarts)
	}
	add("hours", hours)
	add("events", events)
	add("cold", cold)
}

// config is one model on two accelerators.
func config(load string, seed uint64) (sim.Config, error) {
	arrivals, err := workload.ParseProfile(load)
	if err != nil {
		return sim.Config{}, err
	}
	lengths, err := workload.ChatLengths(workload.ShareGPTInputMean, workload.ShareGPTOutputMean)
	if err != nil {
		return sim.Config{}, err
	}
	return sim.Config{Seed: seed, Sync: 15 * time.Second, Models: []sim.Model{{
		Key:      scaling.ModelKey{Namespace: "ns", ID: "m"},
		Requests: workload.WithoutError(workload.Generate(arrivals, lengths, rand.New(rand.NewPCG(seed, 0)))),
		SLO:      sim.SLO{TTFT: 1000, ITL: 40, Attainment: 0.95}, Routing: sim.LeastLoaded, Hold: 10 * time.Minute,
		Variants: []sim.Variant{variant("l40s", 1, 2, 1), variant("fast", 0.5, 5, 0)},
	}}}, nil
}

// variant is an 8B model on an L40S, roughly, with its times taken so many times
// and a cost in cost units per replica-hour.
func variant(name string, times, cost float64, replicas scaling.Replicas) sim.Variant {
	profile := simtest.Slower(simtest.Profile(65536), times)
	profile.Accelerator = name
	return sim.Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: name}, Accelerator: name,
			GPUsPerReplica: 1, Cost: cost, Bounds: scaling.Unbounded(),
			Profile: scaling.Profile{Source: name, Alpha: 18 * times, Beta: 0.35 * times, Gamma: 12 * times, Delta: 0.055 * times, MaxBatchSize: 64},
		},
		Profile: profile,
		StartUp: sim.StartUp{Mean: 2 * time.Minute, Deviation: 15 * time.Second}, Replicas: replicas, Grace: 30 * time.Second,
	}
}

func newPolicy(name string, c sim.Config) (sim.Policy, error) {
	if name == own {
		return sim.NewEngine(sim.EngineOptions{Name: name}), nil
	}
	rule, err := policy.ByName(name, nil)
	if err != nil {
		return nil, err
	}
	model := c.Models[0]
	return sim.NewPeer(sim.PeerOptions{
		Name: name, Interval: rule.Interval(), Rules: map[scaling.ModelKey]policy.Autoscaler{model.Key: rule},
		Measured: func(scaling.VariantKey) policy.Benchmark {
			return policy.Benchmark{
				Rate: 3, Concurrency: 25, PrefillSpeed: 5000, InputTokens: workload.ShareGPTInputMean,
				OutputTokens: workload.ShareGPTOutputMean,
			}
		},
	}), nil
}

package main

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// learnedFile is the last cycle of the run below, rewritten with -update.
const learnedFile = "testdata/learned.jsonl"

// historian decides as the manager does, and keeps the last cycle.
type historian struct {
	settings settings.Model
	history  memory.History
	last     record.Cycle
}

func (h *historian) Name() string            { return "historian" }
func (h *historian) Interval() time.Duration { return 15 * time.Second }

func (h *historian) Decide(v sim.View) ([]sim.Target, error) {
	setup := cycle.Setup{Interval: h.Interval(), Models: map[scaling.ModelKey]settings.Model{}}
	c := cycle.Case{Now: v.Now, Snapshots: v.Snapshots, History: h.history}
	for _, s := range v.Snapshots {
		setup.Models[s.Model] = h.settings
	}
	verdict := setup.Decide(c)
	h.history = verdict.History
	h.last = cycle.Decided{Setup: setup, Case: c, Plan: verdict.Plan}.Recorded()
	h.last.Build = ""
	targets := make([]sim.Target, len(verdict.Plan.Decisions))
	for i, d := range verdict.Plan.Decisions {
		targets[i] = sim.Target{Variant: d.Variant, Replicas: d.Target()}
	}
	return targets, nil
}

// learned runs 40 minutes of chat on three variants of a model: one without a profile, one whose profile
// is of a replica half as fast, and one that never runs; and a second model without requests.
func learned(t *testing.T) record.Cycle {
	t.Helper()
	rates, err := workload.ParseProfile("ramp(0.5->9,10m),ramp(9->1,10m),ramp(1->8,10m),ramp(8->4,10m)")
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := workload.ChatLengths(420, 160)
	if err != nil {
		t.Fatal(err)
	}
	variant := func(name, accelerator string, speed, cost float64, replicas int) sim.Variant {
		return sim.Variant{
			Spec: scaling.Variant{
				Key: scaling.VariantKey{Namespace: "demo", Name: name}, Accelerator: accelerator, GPUsPerReplica: 1, Cost: cost,
				Bounds: scaling.Bounds{Min: scaling.Replicas(replicas), Max: scaling.Replicas(6 * replicas)},
			},
			Profile: serving.Profile{
				Name: name, Accelerator: accelerator, AlphaMS: 18 / speed, BetaMS: 0.35 / speed, GammaMS: 4 / speed, DeltaMS: 0.055 / speed,
				MaxBatchSize: 64, MaxBatchedTokens: 2048, KVCacheTokens: 40960, BlockSize: 16, MaxModelLen: 4096,
			},
			StartUp: sim.StartUp{Mean: time.Minute}, Replicas: scaling.Replicas(replicas), Grace: time.Minute,
		}
	}
	l40s, h100, a100 := variant("llama-l40s", "L40S", 1, 10, 1), variant("llama-h100", "H100", 2, 26, 1), variant("llama-a100", "A100", 1.5, 20, 0)
	h100.Spec.Profile = scaling.Profile{Source: "modelProfile", Alpha: 18, Beta: 0.3, Gamma: 6, Delta: 0.02, MaxBatchSize: 64}
	how := settings.Default()
	how.Engine, how.Method = settings.Hybrid, settings.Tokens
	how.Objective = scaling.Objective{Class: "premium", TTFT: 500, ITL: 40, Attainment: 0.95}
	h := &historian{settings: how}
	config := sim.Config{Seed: 3, Start: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Duration: 40 * time.Minute, Tail: time.Second, Models: []sim.Model{
		{
			Key: scaling.ModelKey{Namespace: "demo", ID: "meta/llama-3.1-8b"}, Variants: []sim.Variant{l40s, h100, a100}, Routing: sim.LeastLoaded, Hold: time.Minute,
			Requests: workload.WithoutError(workload.Generate(rates, lengths, rand.New(rand.NewPCG(5, 6)))), SLO: sim.SLO{TTFT: 500, ITL: 40, Attainment: 0.95},
		},
		{
			Key: scaling.ModelKey{Namespace: "demo", ID: "qwen/qwen3-14b"}, Variants: []sim.Variant{variant("qwen", "L40S", 1, 10, 1)}, Routing: sim.LeastLoaded,
			Requests: workload.WithoutError(func(func(workload.Request) bool) {}), SLO: sim.SLO{TTFT: 500, ITL: 40, Attainment: 0.95},
		},
	}}
	if _, err := sim.Run(t.Context(), config, h); err != nil {
		t.Fatal(err)
	}
	return h.last
}

// TestTheRecordOfWhatWasLearned is the cycle that the tests of wva profile and its page read.
func TestTheRecordOfWhatWasLearned(t *testing.T) {
	if *update {
		if err := os.WriteFile(learnedFile, append(learned(t).Append(nil), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(learnedFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, past := range replay.Decide(c).History {
		if past.Fit.Informed() {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d variants of the record are learned, want 2", seen)
	}
}

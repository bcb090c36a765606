package explain

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var update = flag.Bool("update", false, "rewrite the expected reports")

func TestReport(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 10, 0, time.UTC)
	model := scaling.ModelKey{Namespace: "demo", ID: "meta/llama-3.1-8b"}
	cheap := scaling.VariantKey{Namespace: "demo", Name: "llama-8b-l40s"}
	dear := scaling.VariantKey{Namespace: "demo", Name: "llama-8b-h100"}
	variant := scaling.Variant{
		Key: cheap, Model: model, Target: scaling.TargetRef{Kind: "Deployment", Name: cheap.Name}, Accelerator: "L40S", GPUsPerReplica: 1, Cost: 12,
		Bounds: scaling.Bounds{Min: 1, Max: 3}, Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 1, Pending: 1, Unschedulable: 1},
	}
	decided := func(key scaling.VariantKey, current, to scaling.Replicas, reason scaling.Reason, detail string) scaling.Decision {
		return scaling.Decision{Variant: key, Model: model, Current: current}.Then(scaling.StageOptimize, to, reason, detail)
	}
	grown := decided(cheap, 2, 4, scaling.ReasonSaturated, "KV spare Saturation low (0.050 < 0.100)").
		Then(scaling.StageBounds, 3, scaling.ReasonAboveMax, "maxReplicas is 3")
	stuck := decided(dear, 2, 2, scaling.ReasonPodsUnschedulable, "no node takes 1 of 2 replicas")
	analysis := scaling.Analysis{
		Model: model, Analyzer: "saturation", Signal: scaling.Grow, Unit: scaling.UnitReplicas, Demand: 2.14, Supply: 2, Anticipated: 3,
		Detail: "KV spare Saturation low (0.050 < 0.100)",
	}
	full := Explanation{
		Cycle: "42", At: now.Add(-2 * time.Second), AnalyzedAt: now.Add(-2 * time.Second), Variant: variant, Decided: true, Decision: grown,
		Past: memory.Past{Desired: 3, DecidedAt: now.Add(-70 * time.Second)}, Analysis: analysis, Model: []scaling.Decision{stuck, grown},
		Snapshot: scaling.Snapshot{
			Model: model, Window: time.Minute,
			Load: scaling.Load{ArrivalRate: scaling.Measured(12.34, scaling.Fresh), GatewayQueue: scaling.Reading{State: scaling.NotApplicable}},
			Replicas: []scaling.ReplicaSample{
				{
					Pod: "llama-8b-l40s-abc", Variant: cheap, Ready: true, At: now.Add(-5 * time.Second), KVCacheUsage: scaling.Measured(.75, scaling.Fresh),
					KVCacheUsageNow: scaling.Measured(.7, scaling.Fresh), QueueLength: scaling.Measured(2, scaling.Fresh),
					QueueLengthNow: scaling.Measured(0, scaling.Fresh),
					Running:        scaling.Measured(17, scaling.Fresh),
				},
				{Pod: "llama-8b-l40s-def", Variant: cheap, Ready: true},
			},
		},
	}
	full.Objective = Objective{Objective: scaling.Objective{Class: "Premium", Priority: 1, TTFT: 500, ITL: 24}, Row: "model", TTFTPercentile: 0.9}
	full.Snapshot.Load.ITL = scaling.Measured(31.25, scaling.Fresh)
	full.Snapshot.Load.TTFTBuckets = scaling.Histogram{
		State: scaling.Fresh, Total: 10, Buckets: []scaling.Bucket{{Bound: 250, Rate: 5}, {Bound: 500, Rate: 10}},
	}
	full.Actuation = ActuationBy(scaling.Scalers{
		Known: true,
		List:  []scaling.Scaler{{Kind: scaling.KindHPA, Name: "llama", Bounds: scaling.Bounds{Min: 1, Max: 2}, Asks: 2}},
	})
	full.Actuation.Reason, full.Actuation.Message = "HPALimited", "HorizontalPodAutoscaler llama goes up to 2"
	full.StartUps = StartUpsOf(memory.StartUps{
		{Pod: "a", Created: now.Add(-9 * time.Hour), Took: 97 * time.Second, Restored: true},
		{Pod: "b", Created: now.Add(-3 * time.Hour), Took: 130 * time.Second},
	})
	blind := Explanation{
		Cycle: "7", At: now.Add(-time.Second), Decided: true,
		Variant: scaling.Variant{
			Key: cheap, Model: model, GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Bounds{Max: math.MaxInt},
			Target: variant.Target, Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1},
		},
		Analysis: scaling.Analysis{Model: model, Analyzer: "saturation", Detail: "none of 1 replica reports"},
		Snapshot: scaling.Snapshot{Model: model, SeenModels: []string{"llama-8b", "qwen"}},
	}
	blind.Decision = decided(cheap, 1, 1, scaling.ReasonNoData, "the larger of the last decision and what runs holds: none of 1 replica reports")
	blind.Decision.Fallback = true
	blind.Model = []scaling.Decision{blind.Decision}
	missing := Explanation{
		Cycle: "1", At: now,
		Variant: scaling.Variant{
			Key: cheap, Model: model, GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Unbounded(), Target: variant.Target,
			Missing: `Deployment "llama-8b-l40s" not found in namespace "demo"`,
		},
	}
	halted := blind
	halted.Snapshot = scaling.Snapshot{
		Model: model, Unjoined: `x with {job="vllm"} exists but has no label pod`,
		Replicas: []scaling.ReplicaSample{
			{Pod: "llama-8b-l40s-abc", Variant: cheap, Ready: true, At: now.Add(-5 * time.Second), Stuck: scaling.Frozen, Held: 3},
		},
	}
	mixed := full
	mixed.Snapshot.Partial = "The token counter of {job=\"svc\"} falls again and again"
	mixed.Snapshot.Replicas = slices.Clone(full.Snapshot.Replicas)
	mixed.Snapshot.Replicas[0].Partial = true
	waits := full
	waits.Decision = decided(cheap, 2, 1, scaling.ReasonSpareCapacity, "2 of 2 replicas are not saturated").
		Then(scaling.StageStabilize, 2, scaling.ReasonStabilizing, "fewer than 2 replicas have been wanted for 45s, scaleDownStabilization is 2m0s")
	waits.Past = memory.Past{Desired: 2, DecidedAt: now.Add(-time.Hour)}
	waits.Analysis = scaling.Analysis{
		Model: model, Analyzer: "saturation", Signal: scaling.Shrink, Unit: scaling.UnitReplicas, Demand: 0.4, Supply: 2,
		Anticipated: 2, Detail: "2 of 2 replicas are not saturated",
	}
	waits.Model = []scaling.Decision{decided(dear, 1, 1, scaling.ReasonPaused, "the variant is paused: its decision is frozen at 1"), waits.Decision}
	waits.Actuation = ActuationBy(scaling.Scalers{Known: true})
	halted.Actuation = ActuationBy(scaling.Scalers{Fault: "listing ScaledObjects: forbidden"})
	sized := waits
	sized.Analysis = scaling.Analysis{
		Model: model, Analyzer: "queueing", Signal: scaling.Grow, Unit: scaling.UnitRequestRate, Demand: 12.3, Supply: 9.2, Anticipated: 9.2,
		Detail: "12.3 requests/s are to be served", Variants: []scaling.Capacity{
			{Variant: dear}, {Variant: cheap, PerReplica: 4.6, Source: "ITL of 24 ms at the mean limits the rate"},
		},
		Predicted:      scaling.Latency{TTFT: 180, ITL: 22.5},
		Contradictions: []scaling.Contradiction{{Variant: cheap, Quantity: "ITL", Predicted: 22.5, Measured: 40}},
		Infeasible:     []scaling.Infeasible{{Variant: dear, Target: "TTFT", Wanted: 500, Best: 900}},
	}
	sized.Sizing = sized.Analysis
	sized.Decision = decided(cheap, 2, 3, scaling.ReasonDemand, "12.3 requests/s are to be served").
		Then(scaling.StageCapacity, 2, scaling.ReasonNoStock, "no node has the accelerators of one more replica")
	sized.Model = []scaling.Decision{sized.Decision}
	shared := sized
	shared.Decision = decided(cheap, 2, 3, scaling.ReasonDemand, "12.3 requests/s are to be served").
		Then(scaling.StageOptimize, 2, scaling.ReasonShared, "L40S accelerators do not suffice for all who want them: 2 of 3 replicas are the share")
	shared.Model = []scaling.Decision{
		decided(dear, 1, 1, scaling.ReasonOtherVariant, "").Then(scaling.StageOptimize, 2, scaling.ReasonShared, "2 replicas of this one are the share"),
		shared.Decision,
	}
	unsized := waits
	unsized.Sizing = scaling.Analysis{Analyzer: "queueing", Reason: scaling.ReasonProfileMissing, Detail: "no profile to size with: llama-8b-l40s has none"}
	tests := []struct {
		name string
		e    Explanation
	}{
		{"sized", sized},
		{"shared", shared},
		{"unsized", unsized},
		{"waiting", waits},
		{"limited", full},
		{"blind", blind},
		{"missing", missing},
		{"stuck", halted},
		{"partial", mixed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join("testdata", tt.name+".txt")
			got := Report(tt.e, now)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANameWritesNoLineOfAReport(t *testing.T) {
	key := scaling.VariantKey{Namespace: "team", Name: "v"}
	id := "m\x1b]52;c;Y3VybA\x07\x1b[2K\r\n  decision   3 replicas"
	e := Explanation{Variant: scaling.Variant{Key: key, Model: scaling.ModelKey{Namespace: "team", ID: id}, Bounds: scaling.Unbounded()}}
	e.Actuation.Reason, e.Actuation.Message = "Following", "a\n  decision   9 replicas"
	decisions := 0
	for line := range strings.Lines(Report(e, time.Now())) {
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\x07\r") {
			t.Errorf("the terminal would obey %q", line)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "decision") {
			decisions++
		}
	}
	if decisions != 1 {
		t.Errorf("%d lines tell a decision, want 1", decisions)
	}
}

func TestAReportSaysWhyAModelIsNotIdle(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		activity memory.Activity
		want     string
	}{
		"idle": {
			memory.Activity{At: now, Life: scaling.LifeIdle, Detail: "nothing runs, waits or arrives", IdleSince: now.Add(-250 * time.Second), Until: now},
			"  idle        for 4m10s: nothing runs, waits or arrives\n",
		},
		"active": {
			memory.Activity{At: now, Life: scaling.LifeActive, Detail: "a-0: 3 requests run, 0 wait"},
			"  idle        no: a-0: 3 requests run, 0 wait\n",
		},
		"not known": {
			memory.Activity{At: now, Detail: "a: 1 of 2 replicas say what they do"},
			"  idle        not known: a: 1 of 2 replicas say what they do\n",
		},
	} {
		e := Explanation{Past: memory.Past{ModelPast: memory.ModelPast{Activity: tt.activity}}}
		if got := Report(e, now); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant %q in it", name, got, tt.want)
		}
	}
	if got := Report(Explanation{}, now); strings.Contains(got, "  idle") {
		t.Errorf("got\n%s\nof a model that no cycle has looked at", got)
	}
}

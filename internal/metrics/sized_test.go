package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func TestWhatIsPredictedAndInStockIsExportedWhileItIsKnown(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	v, w := newVariant("v", "A100", 1), newVariant("w", "H100", 1)
	w.Model.ID = "other"
	r := newRecord(start, []scaling.Variant{v, w}, 2, 1)
	r.Deciding, r.Gap = 3*time.Millisecond, scaling.Measured(0.02, scaling.Fresh)
	r.Analyses = []scaling.Analysis{{Model: v.Model, Predicted: scaling.Latency{TTFT: 120, ITL: 24}}, {Model: w.Model}}
	r.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{
		{Accelerator: "A100", Name: "pool-1", Total: 16, Free: []scaling.FreeNodes{{GPUs: 1, Nodes: 3}, {GPUs: 4, Nodes: 1}}},
		{Accelerator: "A100", Name: "pool-2", Total: 8},
	}}
	publish(t, m, r)
	names := []string{PredictedTTFT, PredictedITL, SolverGap, SolverDuration, InventoryGPUs}
	want := `
# HELP wva_inventory_gpus Accelerators of the nodes that pods can be placed on, while a model is limited by them: state total, and free for those that no pod asks for. No series while the stock is not known.
# TYPE wva_inventory_gpus gauge
wva_inventory_gpus{accelerator_type="A100",state="free"} 7
wva_inventory_gpus{accelerator_type="A100",state="total"} 24
# HELP wva_predicted_itl_seconds Mean inter-token latency that the queueing model expects of the measured load on the Ready replicas of the model, the same for each of its variants. No series while it expects nothing.
# TYPE wva_predicted_itl_seconds gauge
wva_predicted_itl_seconds{model_name="llama",namespace="prod",variant_name="v"} 0.024
# HELP wva_predicted_ttft_seconds Mean time to first token that the queueing model expects of the measured load on the Ready replicas of the model, the same for each of its variants. No series while it expects nothing.
# TYPE wva_predicted_ttft_seconds gauge
wva_predicted_ttft_seconds{model_name="llama",namespace="prod",variant_name="v"} 0.12
# HELP wva_solver_duration_seconds Time that the latest cycle took to decide, after everything was collected.
# TYPE wva_solver_duration_seconds gauge
wva_solver_duration_seconds 0.003
# HELP wva_solver_gap_ratio How far the cost of what limited models share may be from the least possible, 0 to 1. No series while nothing has to be shared out.
# TYPE wva_solver_gap_ratio gauge
wva_solver_gap_ratio 0.02
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	publish(t, m, newRecord(start, []scaling.Variant{v, w}, 2, 1))
	if n, err := testutil.GatherAndCount(reg, PredictedTTFT, PredictedITL, SolverGap, InventoryGPUs); err != nil || n != 0 {
		t.Errorf("%d series of what is not known, %v", n, err)
	}
}

// learnedFit is what was seen of replicas in so many windows: an ITL of 20 ms with 4 requests computed
// together.
func learnedFit(windows int) (f memory.Fit) {
	b := memory.Band{Of: 2}
	for range windows {
		b.ITL = b.ITL.Plus([3]float64{1, 4, 10}, 20, 1, 10)
	}
	f.Bands = []memory.Band{b}
	return f
}

func TestWhatIsLearnedIsExportedBesideWhatIsMeasured(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	v, w, x := newVariant("v", "A100", 1), newVariant("w", "H100", 1), newVariant("x", "H100", 1)
	x.Model.ID = "other"
	at := func(v scaling.Variant, decoding, itl float64) scaling.ReplicaSample {
		return scaling.ReplicaSample{Variant: v.Key, Pace: scaling.Pace{Decoding: decoding, ITL: itl, Started: 1}}
	}
	r := newRecord(start, []scaling.Variant{v, w, x}, 1, 1, 1)
	load := scaling.Load{InputTokens: scaling.Measured(500, scaling.Fresh), OutputTokens: scaling.Measured(200, scaling.Fresh)}
	r.Snapshots = []scaling.Snapshot{
		{Model: v.Model, Variants: r.Fleet.Variants[:2], Replicas: []scaling.ReplicaSample{at(v, 2, 18), at(v, 4, 24)}, Load: load},
		{Model: x.Model, Variants: r.Fleet.Variants[2:], Replicas: []scaling.ReplicaSample{at(x, 2, 30)}, Load: load},
	}
	r.History = memory.History{v.Key: {Fit: learnedFit(8)}, x.Key: {Fit: learnedFit(1)}}
	publish(t, m, r)
	// Both replicas of v compute 4 requests and 500 tokens/s x 21 ms, about what was seen of it.
	want := `wva_learned_windows{namespace="prod",variant_name="v"} 8
wva_learned_windows{namespace="prod",variant_name="w"} 0
wva_learned_windows{namespace="prod",variant_name="x"} 1
`
	if diff := cmp.Diff(want, exported(t, reg, LearnedWindows)); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	want = `wva_measured_itl_seconds{namespace="prod",variant_name="v"} 0.021
wva_measured_itl_seconds{namespace="prod",variant_name="x"} 0.03
`
	if diff := cmp.Diff(want, exported(t, reg, MeasuredITL)); diff != "" {
		t.Errorf("measured, of v and of x (-want +got):\n%s", diff)
	}
	var low, mean, high float64
	got := exported(t, reg, LearnedITL)
	format := `wva_learned_itl_seconds{bound="high",namespace="prod",variant_name="v"} %g
wva_learned_itl_seconds{bound="low",namespace="prod",variant_name="v"} %g
wva_learned_itl_seconds{bound="mean",namespace="prod",variant_name="v"} %g
`
	if _, err := fmt.Sscanf(got, format, &high, &low, &mean); err != nil {
		t.Fatalf("learned, of v alone: %v: %s", err, got)
	}
	if !(0.019 < low && low < mean && mean < high && high < 0.022) {
		t.Errorf("learned: %v between %v and %v, want about 0.020", mean, low, high)
	}
	r.Snapshots[0].Replicas[0].Pace, r.Snapshots[0].Replicas[1].Pace = scaling.Pace{}, scaling.Pace{}
	publish(t, m, r)
	if got := exported(t, reg, LearnedITL); got != "" {
		t.Errorf("of idle replicas %s", got)
	}
}

func TestObjectivesEndWithTheirModel(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	r := newRecord(start, nil)
	both, one := scaling.ModelKey{Namespace: "prod", ID: "both"}, scaling.ModelKey{Namespace: "prod", ID: "one"}
	r.Objectives = []scaling.ModelObjective{
		{Model: both, Objective: scaling.Objective{TTFT: 500, ITL: 24}, TTFTPercentile: 0.95},
		{Model: one, Objective: scaling.Objective{ITL: 40}, TTFTPercentile: 0.9, ITLPercentile: 0.5},
	}
	publish(t, m, r)
	want := `wva_objective_itl_seconds{model_name="both",namespace="prod",percentile="mean"} 0.024
wva_objective_itl_seconds{model_name="one",namespace="prod",percentile="0.5"} 0.04
wva_objective_ttft_seconds{model_name="both",namespace="prod",percentile="0.95"} 0.5
`
	if diff := cmp.Diff(want, exported(t, reg, ObjectiveTTFT, ObjectiveITL)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	publish(t, m, newRecord(start, nil))
	if got := exported(t, reg, ObjectiveTTFT, ObjectiveITL); got != "" {
		t.Errorf("no model is left, and there is\n%s", got)
	}
}

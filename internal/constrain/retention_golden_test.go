package constrain

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestGoldenZero compares with the recorded cases. The published version measured the retention
// period from the last change of the decision. Here the recorded ages are those of the last request,
// and the numbers are equal but for three rules:
//
//   - Without metrics no variant goes to zero: the published version took variants there after some
//     time.
//   - Where scale to zero is off, no number jumps to one: the optimizer takes replicas down step by
//     step, as in any reduction. The last replicas end up the same.
//   - The configuration refuses a retention period of 0, so no decision comes from one.
func TestGoldenZero(t *testing.T) {
	areas := map[string]func(*testing.T, goldentest.Raw){
		"retention-scaling": goldenScaling, "retention-exceeded": goldenExceeded, "zero-rate": goldenZeroRate,
		"enforcer": goldenEnforcer, "path1-retention": goldenPath1,
	}
	for _, c := range goldentest.Read[json.RawMessage, json.RawMessage](t, slices.Collect(maps.Keys(areas))...) {
		t.Run(c.String(), func(t *testing.T) { areas[c.Area](t, c) })
	}
}

// settledAfter returns the activity of a model that has been idle for longer than a period.
func settledAfter(period time.Duration) memory.Activity { return quiet(period + time.Second) }

func goldenScaling(t *testing.T, c goldentest.Raw) {
	var in struct {
		RetentionPeriod, ScaleToZero string
		PathName                     string // the part of the published code that decided
		Variants                     []struct {
			AcceleratorCount             scaling.Accelerators
			CurrentReplicas, MinReplicas scaling.Replicas
			ModelID, Name, VariantID     string
		}
	}
	var expected []struct {
		Name    string
		Desired scaling.Replicas
	}
	goldentest.Decode(t, c, &in, &expected)
	period, err := time.ParseDuration(in.RetentionPeriod)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []piece
	want, runs := map[string]scaling.Replicas{}, map[string]scaling.Replicas{}
	for _, e := range expected {
		want[e.Name] = e.Desired
	}
	for _, v := range in.Variants {
		if _, listed := want[v.Name]; !listed {
			continue // of another model
		}
		runs[v.Name] = v.CurrentReplicas
		pieces = append(pieces, piece{name: v.Name, current: v.CurrentReplicas, ready: v.CurrentReplicas, asked: v.CurrentReplicas, min: v.MinReplicas, gpus: v.AcceleratorCount})
	}
	zero := Zero{in.ScaleToZero == "enabled", period}
	if got, _ := retain(zero, memory.Activity{}, pieces...); !cmp.Equal(got, runs) {
		t.Errorf("not measured: got %v, want %v", got, runs)
	}
	if !zero.Enabled {
		for i := range pieces {
			pieces[i].asked = min(pieces[i].asked, max(1, pieces[i].min)) // as the optimizer would ask
		}
	}
	if got, _ := retain(zero, settledAfter(period), pieces...); !cmp.Equal(got, want) {
		t.Errorf("idle, and down to the last replicas: got %v, want %v", got, want)
	}
}

func goldenExceeded(t *testing.T, c goldentest.Raw) {
	var in struct {
		AgeSeconds, RetentionSeconds int
		UpdateTimeZero               bool
	}
	var want struct{ Exceeded bool }
	goldentest.Decode(t, c, &in, &want)
	activity := quiet(time.Duration(in.AgeSeconds) * time.Second)
	if in.UpdateTimeZero {
		activity = memory.Activity{}
	}
	got, _ := retain(Zero{true, time.Duration(in.RetentionSeconds) * time.Second}, activity, piece{name: "a", current: 1, ready: 1, asked: 1})
	if in.RetentionSeconds == 0 {
		want.Exceeded = false
	}
	if exceeded := got["a"] == 0; exceeded != want.Exceeded {
		t.Errorf("got %t, want %t", exceeded, want.Exceeded)
	}
}

// goldenZeroRate takes recorded requests over the retention period for activity within it, and a
// variant without a solution for one with unknown load.
func goldenZeroRate(t *testing.T, c goldentest.Raw) {
	var in struct {
		ScaleToZeroEnabled         *bool
		TotalRequestsOverRetention float64
		Variants                   []struct {
			CurrentReplicas, MinReplicas, SolutionReplicas scaling.Replicas
			SolutionCost                                   float64
			InSolution                                     bool
			Name                                           string
		}
	}
	var want struct {
		FinalAfterMinClampAndFinalCheck map[string]scaling.Replicas
	}
	goldentest.Decode(t, c, &in, &want)
	activity := settledAfter(time.Hour)
	if in.TotalRequestsOverRetention > 0 {
		activity = quiet(30 * time.Minute)
	}
	var pieces []piece
	for _, v := range in.Variants {
		asked := v.SolutionReplicas
		if !v.InSolution {
			asked, activity = v.CurrentReplicas, memory.Activity{}
		}
		pieces = append(pieces, piece{name: v.Name, current: v.CurrentReplicas, ready: v.CurrentReplicas, asked: asked, min: v.MinReplicas, cost: v.SolutionCost})
	}
	got, _ := retain(Zero{in.ScaleToZeroEnabled != nil && *in.ScaleToZeroEnabled, time.Hour}, activity, pieces...)
	if diff := cmp.Diff(want.FinalAfterMinClampAndFinalCheck, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

func goldenEnforcer(t *testing.T, c goldentest.Raw) {
	var in struct {
		Costs              map[string]float64
		QueryError         bool
		RequestCount       float64
		ScaleToZeroEnabled bool
		Targets            map[string]scaling.Replicas
	}
	var want struct{ Targets map[string]scaling.Replicas }
	goldentest.Decode(t, c, &in, &want)
	activity := settledAfter(time.Hour)
	switch {
	case in.QueryError:
		activity = memory.Activity{}
	case in.RequestCount > 0:
		activity = quiet(30 * time.Minute)
	}
	var pieces []piece
	for name, target := range in.Targets {
		cost, ok := in.Costs[name]
		if !ok {
			cost = 10 // the default cost
		}
		pieces = append(pieces, piece{name: name, current: target, ready: target, asked: target, cost: cost})
	}
	got, _ := retain(Zero{in.ScaleToZeroEnabled, time.Hour}, activity, pieces...)
	if diff := cmp.Diff(want.Targets, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

func goldenPath1(t *testing.T, c goldentest.Raw) {
	var in struct {
		AgeSeconds, RetentionSeconds                  int
		Current, MinReplicas, Optimizer, PrevReplicas scaling.Replicas
		VariantsForModel                              int
		PrevUpdateTimeSet, Cheapest                   bool
	}
	var want struct{ Replicas scaling.Replicas }
	goldentest.Decode(t, c, &in, &want)
	zero, activity := Zero{true, time.Duration(max(in.RetentionSeconds, 1)) * time.Second}, memory.Activity{}
	if in.PrevUpdateTimeSet {
		activity = quiet(time.Duration(in.AgeSeconds) * time.Second)
	}
	got, _ := retain(zero, activity, piece{
		name: "a", current: in.Current, ready: in.Current, asked: in.Optimizer, min: in.MinReplicas, stands: in.PrevReplicas, decided: in.PrevUpdateTimeSet,
	})
	if got["a"] != want.Replicas {
		t.Errorf("got %d, want %d", got["a"], want.Replicas)
	}
}

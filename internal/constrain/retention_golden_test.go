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
)

// goldenDeviations are the recorded answers that differ here. All of them measured the
// retention period from the last change of the decision; here their ages are those of the
// last request, and with these the numbers are equal.
var goldenDeviations = map[string]string{
	"SC-retention-exceeded-017": "a retention period of 0 is refused by the configuration; nothing is decided by one",
	// The variants of these were taken to zero after a time without metrics. Where
	// nothing is known nothing changes; where idleness is, the numbers are the same.
	"SC-retention-scaling-001": unmeasured,
	"SC-retention-scaling-005": unmeasured,
	"SC-retention-scaling-010": unmeasuredAndPaced,
	"SC-retention-scaling-012": unmeasuredAndPaced,
}

const (
	unmeasured = "without metrics nothing goes to zero"
	// Where zero is off, what comes of the last replicas is the same; the others are
	// taken down by the optimizer, one step after the other, as in any reduction.
	unmeasuredAndPaced = unmeasured + ", and where zero is off no number jumps to one"
)

type goldenCase struct {
	Area, Case, ID   string
	Inputs, Expected json.RawMessage
}

func (c goldenCase) decode(t *testing.T, inputs, expected any) {
	t.Helper()
	if err := json.Unmarshal(c.Inputs, inputs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Expected, expected); err != nil {
		t.Fatal(err)
	}
}

func TestGoldenZero(t *testing.T) {
	areas := map[string]func(*testing.T, goldenCase){
		"retention-scaling": goldenScaling, "retention-exceeded": goldenExceeded, "zero-rate": goldenZeroRate,
		"enforcer": goldenEnforcer, "path1-retention": goldenPath1,
	}
	files := goldentest.Files{Beside: []string{"testdata/zero.json"}, Shared: []string{"zero.json"}}
	for _, c := range goldentest.Read[goldenCase](t, files, slices.Collect(maps.Keys(areas))...) {
		t.Run(c.ID+" "+c.Case, func(t *testing.T) { areas[c.Area](t, c) })
	}
}

// settledAfter is the quiet of a model that is idle for longer than a period.
func settledAfter(period time.Duration) scaling.Activity { return quiet(period + time.Second) }

func goldenScaling(t *testing.T, c goldenCase) {
	var in struct {
		RetentionPeriod, ScaleToZero string
		Variants                     []struct {
			AcceleratorCount, CurrentReplicas, MinReplicas int
			ModelID, Name                                  string
		}
	}
	var expected []struct {
		Name    string
		Desired int
	}
	c.decode(t, &in, &expected)
	period, err := time.ParseDuration(in.RetentionPeriod)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []piece
	want, runs := map[string]int{}, map[string]int{}
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
	if goldenDeviations[c.ID] == unmeasuredAndPaced {
		if got, _ := retain(zero, scaling.Activity{}, pieces...); !cmp.Equal(got, runs) {
			t.Errorf("not measured: got %v, want %v", got, runs)
		}
		for i := range pieces {
			pieces[i].asked = min(pieces[i].asked, max(1, pieces[i].min)) // as the optimizer leaves it
		}
		if got, _ := retain(zero, settledAfter(period), pieces...); !cmp.Equal(got, want) {
			t.Errorf("idle, and down to the last replicas: got %v, want %v", got, want)
		}
		return
	}
	if got, _ := retain(zero, settledAfter(period), pieces...); !cmp.Equal(got, want) {
		t.Errorf("idle: got %v, want %v", got, want)
	}
	if goldenDeviations[c.ID] != unmeasured {
		t.Fatal("a case that is not among the deviations")
	}
	if got, _ := retain(zero, scaling.Activity{}, pieces...); !cmp.Equal(got, runs) {
		t.Errorf("not measured: got %v, want %v", got, runs)
	}
}

func goldenExceeded(t *testing.T, c goldenCase) {
	var in struct {
		AgeSeconds, RetentionSeconds int
		UpdateTimeZero               bool
	}
	var want struct{ Exceeded bool }
	c.decode(t, &in, &want)
	activity := quiet(time.Duration(in.AgeSeconds) * time.Second)
	if in.UpdateTimeZero {
		activity = scaling.Activity{}
	}
	got, _ := retain(Zero{true, time.Duration(in.RetentionSeconds) * time.Second}, activity, piece{name: "a", current: 1, ready: 1, asked: 1})
	if why, ok := goldenDeviations[c.ID]; ok {
		t.Log("deviates:", why)
		want.Exceeded = false
	}
	if exceeded := got["a"] == 0; exceeded != want.Exceeded {
		t.Errorf("got %t, want %t", exceeded, want.Exceeded)
	}
}

// goldenZeroRate takes requests over the retention period for activity within it,
// and a variant without a solution for one of which the load is not known.
func goldenZeroRate(t *testing.T, c goldenCase) {
	var in struct {
		ScaleToZeroEnabled         *bool
		TotalRequestsOverRetention float64
		Variants                   []struct {
			CurrentReplicas, MinReplicas, SolutionReplicas int
			SolutionCost                                   float64
			InSolution                                     bool
			Name                                           string
		}
	}
	var want struct {
		FinalAfterMinClampAndFinalCheck map[string]int
	}
	c.decode(t, &in, &want)
	activity := settledAfter(time.Hour)
	if in.TotalRequestsOverRetention > 0 {
		activity = quiet(30 * time.Minute)
	}
	var pieces []piece
	for _, v := range in.Variants {
		asked := v.SolutionReplicas
		if !v.InSolution {
			asked, activity = v.CurrentReplicas, scaling.Activity{}
		}
		pieces = append(pieces, piece{name: v.Name, current: v.CurrentReplicas, ready: v.CurrentReplicas, asked: asked, min: v.MinReplicas, cost: v.SolutionCost})
	}
	got, _ := retain(Zero{in.ScaleToZeroEnabled != nil && *in.ScaleToZeroEnabled, time.Hour}, activity, pieces...)
	if diff := cmp.Diff(want.FinalAfterMinClampAndFinalCheck, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

func goldenEnforcer(t *testing.T, c goldenCase) {
	var in struct {
		Costs              map[string]float64
		QueryError         bool
		RequestCount       float64
		ScaleToZeroEnabled bool
		Targets            map[string]int
	}
	var want struct{ Targets map[string]int }
	c.decode(t, &in, &want)
	activity := settledAfter(time.Hour)
	switch {
	case in.QueryError:
		activity = scaling.Activity{}
	case in.RequestCount > 0:
		activity = quiet(30 * time.Minute)
	}
	var pieces []piece
	for name, target := range in.Targets {
		cost, ok := in.Costs[name]
		if !ok {
			cost = 10 // the default of a variant without one
		}
		pieces = append(pieces, piece{name: name, current: target, ready: target, asked: target, cost: cost})
	}
	got, _ := retain(Zero{in.ScaleToZeroEnabled, time.Hour}, activity, pieces...)
	if diff := cmp.Diff(want.Targets, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

func goldenPath1(t *testing.T, c goldenCase) {
	var in struct {
		AgeSeconds, RetentionSeconds, Current, MinReplicas, Optimizer, PrevReplicas int
		PrevUpdateTimeSet                                                           bool
	}
	var want struct{ Replicas int }
	c.decode(t, &in, &want)
	zero, activity := Zero{true, time.Duration(max(in.RetentionSeconds, 1)) * time.Second}, scaling.Activity{}
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

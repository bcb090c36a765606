package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestLastUpdateMovesWithNumberOrReason(t *testing.T) {
	stored := func(number, changed int32, reason string) *v1alpha1.OptimizedAlloc {
		return &v1alpha1.OptimizedAlloc{
			NumReplicas: number,
			LastUpdate:  &v1alpha1.LastUpdate{UpdateTime: stamp(10), NumReplicasChanged: changed, Reason: reason},
		}
	}
	timeless := stored(3, 9, "R")
	timeless.LastUpdate.UpdateTime = nil
	tests := map[string]struct {
		stored *v1alpha1.OptimizedAlloc
		number int32
		reason string
		want   v1alpha1.LastUpdate
	}{
		"number change":                 {stored(3, 9, "R"), 5, "R", v1alpha1.LastUpdate{UpdateTime: stamp(90), NumReplicasChanged: 2, Reason: "R"}},
		"down":                          {stored(3, 9, "R"), 2, "S", v1alpha1.LastUpdate{UpdateTime: stamp(90), NumReplicasChanged: -1, Reason: "S"}},
		"first":                         {nil, 3, "R", v1alpha1.LastUpdate{UpdateTime: stamp(90), NumReplicasChanged: 2, Reason: "R"}},
		"an older version left none":    {&v1alpha1.OptimizedAlloc{NumReplicas: 3}, 3, "R", v1alpha1.LastUpdate{UpdateTime: stamp(100), Reason: "R"}},
		"an older version left no time": {timeless, 3, "R", v1alpha1.LastUpdate{UpdateTime: stamp(100), Reason: "R"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := update(tt.stored, change{from: 1, number: tt.number, reason: tt.reason, decided: at(90), now: at(100)})
			if diff := cmp.Diff(*got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

// TestGoldenLastUpdate: every recorded case has a stored decision.
func TestGoldenLastUpdate(t *testing.T) {
	type inputs struct {
		Desired, PrevReplicas, PrevChanged int32
		Reason, PrevReason                 string
	}
	type outcome struct {
		NumReplicas, NumReplicasChanged int32
		Reason                          string
		UpdateTimeRefreshed             bool
	}
	for _, c := range goldentest.Read[inputs, outcome](t, "lastupdate") {
		stored := &v1alpha1.OptimizedAlloc{NumReplicas: c.Inputs.PrevReplicas, LastUpdate: &v1alpha1.LastUpdate{
			UpdateTime: stamp(10), NumReplicasChanged: c.Inputs.PrevChanged, Reason: c.Inputs.PrevReason,
		}}
		is := update(stored, change{number: c.Inputs.Desired, reason: c.Inputs.Reason, decided: at(90), now: at(100)})
		got := outcome{c.Inputs.Desired, is.NumReplicasChanged, is.Reason, !is.UpdateTime.Equal(stamp(10))}
		if got != c.Expected {
			t.Errorf("%s: got %+v, want %+v", c, got, c.Expected)
		}
	}
}

// TestReasonStaysWithTheNumber runs cycles and compares lastUpdate after the last one.
func TestReasonStaysWithTheNumber(t *testing.T) {
	grew := explanation(deciding(3, scaling.ReasonSaturated))
	waits := explanation(later(110), deciding(3, scaling.ReasonInTransition))
	steady := explanation(later(120), running(3, 3, 0), deciding(3, scaling.ReasonSteady))
	blind := explanation(later(130), running(3, 3, 0), fallback(3))
	blinder := explanation(later(140), running(3, 3, 0), fallback(3))
	sees := explanation(later(150), running(3, 3, 0), deciding(3, scaling.ReasonSteady))
	shrinks := explanation(later(160), running(3, 3, 0), deciding(2, scaling.ReasonSpareCapacity))
	bounded := explanation(func(e *explain.Explanation) {
		deciding(3, scaling.ReasonSaturated)(e)
		e.Decision = e.Decision.Then(scaling.StageBounds, 2, scaling.ReasonAboveMax, "maxReplicas is 2")
	})
	late := explanation(later(170), deciding(3, scaling.ReasonInTransition), func(e *explain.Explanation) { e.Past.DecidedAt = at(140) })
	all := func(es ...explain.Explanation) []explain.Explanation { return es }
	tests := map[string]struct {
		cycles  []explain.Explanation
		number  int32
		reason  string
		changed int32
		updated time.Time
	}{
		"ordered":                          {all(grew), 3, "Saturated", 1, at(100)},
		"confirmed":                        {all(grew, waits, steady), 3, "Saturated", 1, at(100)},
		"a fallback begins":                {all(grew, waits, steady, blind), 3, "NoData", 0, at(130)},
		"and lasts":                        {all(grew, waits, steady, blind, blinder), 3, "NoData", 0, at(130)},
		"and ends":                         {all(grew, waits, steady, blind, blinder, sees), 3, "Steady", 0, at(150)},
		"another number":                   {all(grew, waits, steady, shrinks), 2, "SpareCapacity", -1, at(160)},
		"settled by a bound":               {all(bounded), 2, "AboveMax", 0, at(100)},
		"nothing decided keeps it":         {all(grew, explanation(unreadable, undecided)), 3, "Saturated", 1, at(100)},
		"written later than decided":       {all(explanation(), late), 3, "InTransition", 1, at(140)},
		"first one, nothing to be changed": {all(explanation()), 2, "Steady", 0, at(40)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := statusAfter(object(), tt.cycles...).DesiredOptimizedAlloc
			want := &v1alpha1.LastUpdate{NumReplicasChanged: tt.changed, Reason: tt.reason}
			at := got.LastUpdate.UpdateTime
			got.LastUpdate.UpdateTime = nil
			if diff := cmp.Diff(got.LastUpdate, want); diff != "" || got.NumReplicas != tt.number {
				t.Errorf("number %d, want %d; -got +want:\n%s", got.NumReplicas, tt.number, diff)
			}
			if !at.Time.Equal(tt.updated) {
				t.Errorf("updated at %v, want %v", at, tt.updated)
			}
		})
	}
}

package cycle

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// fallbackInputs are a variant without a solution of the published optimizer, the other variants of
// its model, and the decision before.
type fallbackInputs struct {
	VA            goldenVariant
	OtherVariants []goldenVariant
	Previous      *struct {
		AgeSeconds                      int
		NumReplicas, NumReplicasChanged scaling.Replicas
		Reason                          string
	}
	Retention              string
	ScaleToZeroEnabled     bool   // without an analysis nothing proves idleness, so it changes nothing here
	HasPrecomputedFallback bool   // the published version had already decided one
	PathLabel              string // the part of the published code that decided
}

type fallbackOutcome struct {
	NumReplicas, NumReplicasChanged scaling.Replicas
	UpdateTime                      string // previous, now, or creationTimestamp
}

type fallbackCase = goldentest.Case[fallbackInputs, fallbackOutcome]

type goldenVariant struct {
	Name, ModelID, VariantID string
	AcceleratorCount         scaling.Accelerators
	CurrentReplicas          scaling.Replicas
	DesiredReplicas          int
	MinReplicas              scaling.Replicas
	MaxReplicas              *scaling.Replicas
}

// held is the result of a case.
type held struct {
	Replicas scaling.Replicas
	Change   scaling.Replicas // by how many replicas the decision last changed
	Moved    bool             // whether it changed now
}

// deviations are the rules by which this project decides otherwise than the published version. Each
// changes the expectation where it applies.
var deviations = []struct {
	name    string
	applies func(fallbackCase) bool
	change  func(fallbackCase, *held)
}{
	{
		name: "no analysis is no proof of idleness: the larger of the last decision and what runs holds (published: retention since the last decision, then 0, or 1)",
		applies: func(c fallbackCase) bool {
			retention, err := time.ParseDuration(c.Inputs.Retention)
			return err == nil && c.Inputs.Previous != nil && time.Duration(c.Inputs.Previous.AgeSeconds)*time.Second > retention
		},
		change: func(c fallbackCase, h *held) {
			*h = held{Replicas: max(c.Inputs.Previous.NumReplicas, c.Inputs.VA.CurrentReplicas), Change: c.Inputs.Previous.NumReplicasChanged}
		},
	},
	{
		name:    "a first decision changes what there was (published: it changes from 0)",
		applies: func(c fallbackCase) bool { return c.Inputs.Previous == nil },
		change:  func(c fallbackCase, h *held) { h.Change = h.Replicas - c.Inputs.VA.CurrentReplicas },
	},
	{
		name:    "the clock of a first decision starts when it is made (published: at the creation of the object)",
		applies: func(c fallbackCase) bool { return c.Expected.UpdateTime == "creationTimestamp" },
		change:  func(_ fallbackCase, h *held) { h.Moved = true },
	},
	{
		name:    "a decision that was stored without a reason is not changed by getting one (published: by 0 replicas, now)",
		applies: func(c fallbackCase) bool { return c.Inputs.Previous != nil && c.Inputs.Previous.Reason == "" },
		change: func(c fallbackCase, h *held) {
			h.Change, h.Moved = c.Inputs.Previous.NumReplicasChanged, false
		},
	},
}

func TestGoldenFallback(t *testing.T) {
	for _, c := range goldentest.Read[fallbackInputs, fallbackOutcome](t, "fallback") {
		t.Run(c.String(), func(t *testing.T) {
			want := held{c.Expected.NumReplicas, c.Expected.NumReplicasChanged, c.Expected.UpdateTime == "now"}
			for _, d := range deviations {
				if d.applies(c) {
					t.Log("deviates:", d.name)
					d.change(c, &want)
				}
			}
			verdict := Setup{}.Decide(c.Inputs.decide())
			key := scaling.VariantKey{Namespace: "ns", Name: c.Inputs.VA.Name}
			d, past := verdict.Plan.Decisions[0], verdict.History[key]
			if d.Variant != key || !d.Fallback {
				t.Fatalf("decided without a fallback: %+v", d)
			}
			if diff := cmp.Diff(want, held{d.Target(), past.Change, past.DecidedAt.Equal(now)}); diff != "" {
				t.Errorf("fallback (-want +got):\n%s", diff)
			}
		})
	}
}

// decide returns the case as this project would see it: no replica reports.
func (in fallbackInputs) decide() Case {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	snap := scaling.Snapshot{Model: model, At: now, Window: time.Minute}
	for _, v := range append([]goldenVariant{in.VA}, in.OtherVariants...) {
		bounds := scaling.Bounds{Min: v.MinReplicas, Max: math.MaxInt}
		if v.MaxReplicas != nil {
			bounds.Max = *v.MaxReplicas
		}
		snap.Variants = append(snap.Variants, scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: v.Name}, Model: model, Bounds: bounds, Cost: 10, GPUsPerReplica: v.AcceleratorCount,
			Replicas: scaling.ReplicaCounts{Observed: true, Current: v.CurrentReplicas, Ready: v.CurrentReplicas},
		})
	}
	history := memory.History{}
	if p := in.Previous; p != nil {
		at := now.Add(-time.Duration(p.AgeSeconds) * time.Second)
		history[snap.Variants[0].Key] = memory.Past{Desired: p.NumReplicas, Change: p.NumReplicasChanged, DecidedAt: at, ProgressAt: at}
	}
	return Case{Now: now, Snapshots: []scaling.Snapshot{snap}, History: history}
}

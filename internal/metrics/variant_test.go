package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestReplicasAreCountedByWhatHasBecomeOfThem(t *testing.T) {
	tests := []struct {
		name   string
		counts scaling.ReplicaCounts
		want   string
	}{
		{
			"all are Ready",
			scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 3},
			`wva_replicas{namespace="prod",state="ready",variant_name="v"} 3
wva_replicas{namespace="prod",state="starting",variant_name="v"} 0
wva_replicas{namespace="prod",state="unschedulable",variant_name="v"} 0
`,
		},
		{
			"each counts once",
			scaling.ReplicaCounts{Observed: true, Current: 9, Ready: 3, Pending: 6, Unschedulable: 2, Podless: 1, Surplus: 4},
			`wva_replicas{namespace="prod",state="ready",variant_name="v"} 3
wva_replicas{namespace="prod",state="starting",variant_name="v"} 4
wva_replicas{namespace="prod",state="unschedulable",variant_name="v"} 2
`,
		},
		{"a target that cannot be read", scaling.ReplicaCounts{Current: 3, Ready: 3}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			m := New(reg, stopped(start), Options{})
			v := newVariant("v", "A100", 0)
			v.Replicas = tt.counts
			publish(t, m, newRecord(start, []scaling.Variant{v}, 3))
			if diff := cmp.Diff(tt.want, exported(t, reg, Replicas)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStatusSaysNothingOfHowManyAreReady(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	if err := m.Restore(restored(newVariant("v", "A100", 2)), nil); err != nil {
		t.Fatal(err)
	}
	want := `wva_variant_info{accelerator_type="A100",model_name="llama",namespace="prod",variant_name="v"} 1
`
	if diff := cmp.Diff(want, exported(t, reg, Replicas, VariantInfo, GrowthHeld)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGrowthIsHeldForOneReasonAtATime(t *testing.T) {
	v, free := newVariant("v", "A100", 4), newVariant("free", "", 1)
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	held := newRecord(start, []scaling.Variant{v, free}, 5, 2)
	for _, reason := range []scaling.Reason{scaling.ReasonAboveMax, scaling.ReasonOverQuota} {
		held.Plan.Decisions[0] = decide(v, 5, scaling.ReasonSaturated).Then(scaling.StageBounds, 4, reason, "")
		publish(t, m, held)
		want := `wva_growth_held{namespace="prod",reason="` + string(reason) + `",variant_name="v"} 1
`
		if diff := cmp.Diff(want, exported(t, reg, GrowthHeld)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	publish(t, m, newRecord(start, []scaling.Variant{v, free}, 5, 2))
	if got := exported(t, reg, GrowthHeld); got != "" {
		t.Errorf("nothing holds growth any more, and there is\n%s", got)
	}
}

func TestOnlyAnAnalysisThatAsksForGrowthIsHeldByAWait(t *testing.T) {
	v := newVariant("v", "A100", 4)
	for signal, want := range map[scaling.Signal]string{
		scaling.Grow:   "wva_growth_held{namespace=\"prod\",reason=\"InTransition\",variant_name=\"v\"} 1\n",
		scaling.Shrink: "", scaling.Steady: "", scaling.Unknown: "",
	} {
		reg := prometheus.NewPedanticRegistry()
		m := New(reg, stopped(start), Options{})
		r := newRecord(start, []scaling.Variant{v}, 4)
		r.Plan.Decisions[0] = decide(v, 4, scaling.ReasonInTransition)
		r.Analyses = []scaling.Analysis{{Model: v.Model, Signal: signal}}
		publish(t, m, r)
		if diff := cmp.Diff(want, exported(t, reg, GrowthHeld)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", signal, diff)
		}
	}
}

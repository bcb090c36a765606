package optimizer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// variant describes one variant of the model under test.
type variant struct {
	name          string
	cost          float64
	current       scaling.Replicas
	ready         scaling.Replicas // -1: all
	reporting     scaling.Replicas // -1: as many as are ready
	unschedulable scaling.Replicas // part of the pending ones
	desired       scaling.Replicas // of the last decision; -1: none
	quiet         time.Duration    // time since the last progress
	change        scaling.Replicas // of the last decision
	before        scaling.Replicas // Ready replicas at the last growth; nothing of that order became Ready
	startUp       time.Duration
	bounds        scaling.Bounds // zero: none
	unreadable    bool
	paused        bool
}

func settledAt(name string, cost float64, replicas scaling.Replicas) variant {
	return variant{name: name, cost: cost, current: replicas, ready: -1, reporting: -1, desired: replicas, quiet: time.Hour}
}

func input(signal scaling.Signal, demand float64, variants ...variant) Input {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	in := Input{
		Snapshot: scaling.Snapshot{Model: model, At: now, Window: time.Minute},
		Analysis: scaling.Analysis{Model: model, Signal: signal, Reason: scaling.ReasonSaturated, Detail: "because", Demand: demand},
		History:  memory.History{},
	}
	for _, v := range variants {
		if v.ready < 0 {
			v.ready = v.current
		}
		if v.reporting < 0 {
			v.reporting = v.ready
		}
		if v.bounds == (scaling.Bounds{}) {
			v.bounds = scaling.Unbounded()
		}
		key := scaling.VariantKey{Namespace: "ns", Name: v.name}
		sv := scaling.Variant{Key: key, Model: model, Cost: v.cost, Bounds: v.bounds, StartUp: v.startUp, Missing: "gone", Paused: v.paused}
		if !v.unreadable {
			sv.Missing = ""
			sv.Replicas = scaling.ReplicaCounts{Observed: true, Current: v.current, Ready: v.ready, Pending: v.current - v.ready, Unschedulable: v.unschedulable}
		}
		in.Snapshot.Variants = append(in.Snapshot.Variants, sv)
		in.Analysis.Variants = append(in.Analysis.Variants, scaling.Capacity{Variant: key, PerReplica: 1})
		in.Analysis.Supply += float64(v.reporting)
		for i := range v.reporting {
			in.Snapshot.Replicas = append(in.Snapshot.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprintf("%s-%d", v.name, i), Variant: key, Ready: true,
				KVCacheUsage: scaling.Measured(0.5, scaling.Fresh), QueueLength: scaling.Measured(0, scaling.Fresh),
			})
		}
		if v.desired >= 0 {
			at := now.Add(-v.quiet)
			in.History[key] = memory.Past{Desired: v.desired, Change: v.change, Before: v.before, DecidedAt: at, ProgressAt: at, Counts: sv.Replicas}
		}
	}
	return in
}

func TestDecide(t *testing.T) {
	cheap, dear := settledAt("cheap", 10, 2), settledAt("dear", 40, 2)
	with := func(v variant, change func(*variant)) variant { change(&v); return v }
	ordered := func(v variant, quiet time.Duration) variant {
		return with(v, func(v *variant) { v.desired = v.current + 1; v.quiet = quiet })
	}
	leaves := func(v variant, desired scaling.Replicas) variant {
		return with(v, func(v *variant) { v.desired, v.quiet, v.change = desired, 0, desired-v.current })
	}
	tests := []struct {
		name string
		in   Input
		want []string // "variant: target reason"
	}{
		{
			"growth goes to the cheapest",
			input(scaling.Grow, 0, cheap, dear),
			[]string{"cheap: 3 Saturated", "dear: 2 OtherVariant"},
		},
		{
			"growth skips a variant at its most",
			input(scaling.Grow, 0, with(cheap, func(v *variant) { v.bounds = scaling.Bounds{Max: 2} }), dear),
			[]string{"cheap: 2 OtherVariant", "dear: 3 Saturated"},
		},
		{
			"a variant at zero replicas is a candidate",
			input(scaling.Grow, 0, settledAt("cheap", 10, 0), dear),
			[]string{"cheap: 1 Saturated", "dear: 2 OtherVariant"},
		},
		{
			"an order under way makes the whole model wait",
			input(scaling.Grow, 0, ordered(cheap, time.Minute), dear),
			[]string{"cheap: 3 InTransition", "dear: 2 InTransition"},
		},
		{
			"an order that the target never took stops counting after 5 minutes",
			input(scaling.Grow, 0, ordered(cheap, 5*time.Minute+time.Second), dear),
			[]string{"cheap: 3 TargetNotMoving", "dear: 3 Saturated"},
		},
		{
			"twice the usual start-up is shorter than that",
			input(scaling.Grow, 0, with(ordered(cheap, 181*time.Second), func(v *variant) { v.startUp = 90 * time.Second }), dear),
			[]string{"cheap: 3 TargetNotMoving", "dear: 3 Saturated"},
		},
		{
			"and a minute is the least, whatever the start-up",
			input(scaling.Grow, 0, with(ordered(cheap, 59*time.Second), func(v *variant) { v.startUp = time.Second }), dear),
			[]string{"cheap: 3 InTransition", "dear: 2 InTransition"},
		},
		{
			"pods that no node takes are named and planned elsewhere",
			input(scaling.Grow, 0, variant{name: "cheap", cost: 10, current: 3, ready: 2, reporting: -1, unschedulable: 1, desired: 3, quiet: time.Hour}, dear),
			[]string{"cheap: 3 PodsUnschedulable", "dear: 3 Saturated"},
		},
		{
			"an overdue order is the first to go when there is too much",
			input(scaling.Shrink, 1, variant{name: "cheap", cost: 10, current: 3, ready: 2, reporting: -1, unschedulable: 1, desired: 3, quiet: time.Hour}, dear),
			[]string{"cheap: 2 OrderCancelled", "dear: 2 OtherVariant"},
		},
		{
			"a steady model keeps an overdue order, and names it",
			input(scaling.Steady, 3, variant{name: "cheap", cost: 10, current: 3, ready: 2, reporting: -1, unschedulable: 1, desired: 3, quiet: time.Hour}, dear),
			[]string{"cheap: 3 PodsUnschedulable", "dear: 2 Steady"},
		},
		{
			"one pod that never reports does not pin a model for ever",
			input(scaling.Grow, 0, variant{name: "only", cost: 10, current: 4, ready: 4, reporting: 3, desired: 4, quiet: time.Hour}),
			[]string{"only: 5 Saturated"},
		},
		{
			"an image that never starts is not ordered without end",
			input(scaling.Grow, 0, variant{name: "only", cost: 10, current: 3, ready: 1, reporting: -1, desired: 3, quiet: time.Hour}),
			[]string{"only: 3 PodsNotReady"},
		},
		{
			"a surge is waited for while it is new",
			input(scaling.Grow, 0, variant{name: "only", cost: 10, current: 2, ready: 2, reporting: 3, desired: 2}),
			[]string{"only: 2 InTransition"},
		},
		{
			"and does not keep a model from growing for the length of a rollout",
			input(scaling.Grow, 0, variant{name: "only", cost: 10, current: 2, ready: 2, reporting: 3, desired: 2, quiet: time.Hour}),
			[]string{"only: 3 Saturated"},
		},
		{
			"nor does it pass for capacity that may go",
			input(scaling.Shrink, 0, variant{name: "only", cost: 10, current: 2, ready: 2, reporting: 3, desired: 2, quiet: time.Hour}),
			[]string{"only: 2 Steady"},
		},
		{
			"an overdue order stays named while another is on its way",
			input(scaling.Grow, 0, variant{name: "cheap", cost: 10, current: 3, ready: 2, reporting: -1, unschedulable: 1, desired: 3, quiet: time.Hour}, ordered(dear, time.Second)),
			[]string{"cheap: 3 PodsUnschedulable", "dear: 3 InTransition"},
		},
		{
			"reduction comes from the most expensive",
			input(scaling.Shrink, 1, cheap, dear),
			[]string{"cheap: 2 OtherVariant", "dear: 1 Saturated"},
		},
		{
			"each variant keeps one replica",
			input(scaling.Shrink, 0, settledAt("cheap", 10, 1), settledAt("dear", 40, 1)),
			[]string{"cheap: 1 AtFloor", "dear: 1 AtFloor"},
		},
		{
			"and its minimum",
			input(scaling.Shrink, 0, cheap, with(dear, func(v *variant) { v.bounds = scaling.Bounds{Min: 2, Max: 9} })),
			[]string{"cheap: 1 Saturated", "dear: 2 OtherVariant"},
		},
		{
			"nothing goes whose load the rest cannot take",
			input(scaling.Shrink, 3.5, cheap, dear),
			[]string{"cheap: 2 Steady", "dear: 2 Steady"},
		},
		{
			"one removal at a time",
			input(scaling.Shrink, 0.5, leaves(cheap, 1), dear),
			[]string{"cheap: 1 Steady", "dear: 2 Steady"},
		},
		{
			"a removal that the target does not make is named and blocks no variant",
			input(scaling.Shrink, 0.5, with(cheap, func(v *variant) { v.desired = 1; v.quiet = time.Hour }), dear),
			[]string{"cheap: 1 TargetNotMoving", "dear: 1 Saturated"},
		},
		{
			"a removal is taken back when load returns, before anything is added",
			input(scaling.Grow, 3, leaves(cheap, 1), dear),
			[]string{"cheap: 2 RemovalCancelled", "dear: 2 OtherVariant"},
		},
		{
			"a removal is taken back when the rest can no longer carry the load",
			input(scaling.Steady, 3.5, leaves(cheap, 1), dear),
			[]string{"cheap: 2 RemovalCancelled", "dear: 2 OtherVariant"},
		},
		{
			"also while another variant is on its way",
			input(scaling.Grow, 3, leaves(cheap, 1), ordered(dear, time.Second)),
			[]string{"cheap: 2 RemovalCancelled", "dear: 3 OtherVariant"},
		},
		{
			"a removal down to the maximum cannot be taken back and blocks no growth",
			input(scaling.Grow, 9, with(leaves(cheap, 1), func(v *variant) { v.bounds = scaling.Bounds{Max: 1} }), dear),
			[]string{"cheap: 1 OtherVariant", "dear: 3 Saturated"},
		},
		{
			"readings from before the last change give nothing up",
			input(scaling.Shrink, 1, with(cheap, func(v *variant) { v.quiet = 59 * time.Second }), dear),
			[]string{"cheap: 2 Steady", "dear: 2 Steady"},
		},
		{
			"what was just found too little is not given up for being just enough",
			input(scaling.Shrink, 2.8, with(cheap, func(v *variant) { v.change = 1 }), dear),
			[]string{"cheap: 2 Steady", "dear: 2 Steady"},
		},
		{
			"but for being clearly enough",
			input(scaling.Shrink, 2.7, with(cheap, func(v *variant) { v.change = 1 }), dear),
			[]string{"cheap: 2 OtherVariant", "dear: 1 Saturated"},
		},
		{
			"a replica that fails its probe under load does not keep its model from growing",
			input(scaling.Grow, 9, variant{name: "only", cost: 10, current: 3, ready: 2, reporting: 3, desired: 3, quiet: time.Hour}),
			[]string{"only: 4 Saturated"},
		},
		{
			"a step that an HPA takes for no difference is made one larger",
			input(scaling.Grow, 99, variant{name: "only", cost: 10, current: 11, ready: -1, reporting: -1, desired: 12, quiet: time.Hour}),
			[]string{"only: 13 Saturated"},
		},
		{
			"and not larger without end",
			input(scaling.Grow, 99, variant{name: "only", cost: 10, current: 11, ready: -1, reporting: -1, desired: 13, quiet: time.Hour}),
			[]string{"only: 13 TargetNotMoving"},
		},
		{
			"the same for a removal",
			input(scaling.Shrink, 1, variant{name: "only", cost: 10, current: 10, ready: -1, reporting: -1, desired: 9, quiet: time.Hour, change: -1}),
			[]string{"only: 8 Saturated"},
		},
		{
			"and for one of pods that take long to start",
			input(scaling.Shrink, 1, variant{name: "only", cost: 10, current: 10, ready: -1, reporting: -1, desired: 9, quiet: 7 * time.Minute, change: -1, startUp: 9 * time.Minute}),
			[]string{"only: 8 Saturated"},
		},
		{
			"but for the time that an HPA takes for it",
			input(scaling.Shrink, 1, variant{name: "only", cost: 10, current: 10, ready: -1, reporting: -1, desired: 9, quiet: 5 * time.Minute, change: -1, startUp: 9 * time.Minute}),
			[]string{"only: 9 Steady"},
		},
		{
			"two pods that never start are not followed by a third",
			input(scaling.Grow, 99, variant{name: "only", cost: 10, current: 12, ready: 10, reporting: -1, desired: 12, quiet: 6 * time.Minute, before: 10}),
			[]string{"only: 12 PodsNotReady"},
		},
		{
			"two that fail while others start are",
			input(scaling.Grow, 99, variant{name: "only", cost: 10, current: 12, ready: 10, reporting: -1, desired: 12, quiet: time.Hour}),
			[]string{"only: 13 Saturated"},
		},
		{
			"an order from zero that no scaler carries out is cancelled to zero",
			input(scaling.Shrink, 0.5, variant{name: "asleep", cost: 10, desired: 1, quiet: time.Hour}, dear),
			[]string{"asleep: 0 OrderCancelled", "dear: 2 OtherVariant"},
		},
		{
			"a model that was decided to nothing stays there, by this package",
			input(scaling.Unknown, 0, settledAt("only", 10, 0)),
			[]string{"only: 0 NoData"},
		},
		{
			"without data the larger of the last decision and what runs holds",
			input(scaling.Unknown, 0, with(cheap, func(v *variant) { v.desired, v.quiet = 5, 0 }), leaves(dear, 1)),
			[]string{"cheap: 5 NoData", "dear: 2 NoData"},
		},
		{
			"without data and without any replica or decision the cheapest starts one",
			input(scaling.Unknown, 0, variant{name: "dear", cost: 40, desired: -1}, variant{name: "cheap", cost: 10, desired: -1}),
			[]string{"cheap: 1 FirstReplica", "dear: 0 NoData"},
		},
		{
			"but not where another variant runs",
			input(scaling.Unknown, 0, variant{name: "cheap", cost: 10, desired: -1}, variant{name: "dear", cost: 40, current: 1, ready: 0, desired: -1}),
			[]string{"cheap: 0 NoData", "dear: 1 NoData"},
		},
		{
			"a target that cannot be read keeps its last decision",
			input(scaling.Grow, 0, cheap, variant{name: "gone", cost: 1, desired: 3, unreadable: true}),
			[]string{"cheap: 3 Saturated", "gone: 3 TargetUnreadable"},
		},
		{
			"and has none where there was none",
			input(scaling.Unknown, 0, variant{name: "gone", cost: 1, desired: -1, unreadable: true}),
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range Decide(tt.in) {
				got = append(got, fmt.Sprintf("%s: %d %s", d.Variant.Name, d.Target(), d.Cause().Reason))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

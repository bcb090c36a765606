package main

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// counter counts the cases that an archive keeps.
type counter int

func (k *counter) Keep(cycle.Decided) { *k++ }

func TestTheHistoryHasWhatTheCycleRecorded(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	model, key := scaling.ModelKey{Namespace: "ns", ID: "m"}, scaling.VariantKey{Namespace: "ns", Name: "v"}
	v := scaling.Variant{Key: key, Model: model, Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}}
	var next counter
	c := &chronicle{history: history.New(history.Options{}), memory: ledger.New(), next: &next}
	for i, recorded := range []scaling.CycleID{"c-1", "c-2", "another"} {
		now := at.Add(time.Duration(i) * 15 * time.Second)
		d := cycle.Decided{Case: cycle.Case{
			Cycle: scaling.CycleID([]string{"c-1", "c-2", "c-3"}[i]), Now: now,
			Snapshots: []scaling.Snapshot{{Model: model, At: now, Window: time.Minute, Variants: []scaling.Variant{v}}},
		}}
		d.Plan = scaling.Plan{At: now, Decisions: []scaling.Decision{{Variant: key, Model: model, Current: 1}}}
		c.memory.Record(memory.Record{
			Cycle: recorded, Plan: d.Plan, Analyses: []scaling.Analysis{{Model: model, Signal: scaling.Steady, Demand: 1, Supply: 2}},
			Fleet: scaling.Fleet{Pods: []scaling.Pod{{Namespace: "ns", Name: "p", Variant: key, Created: at.Add(-time.Minute)}}},
		})
		c.Keep(d)
	}
	if next != 3 {
		t.Errorf("%d cases are handed on, want 3", next)
	}
	got, ok := c.history.Model(model, time.Time{}, time.Time{}, 0)
	if !ok || len(got.Utilization) != 3 || got.Utilization[0] != 0.5 || got.Utilization[1] != 0.5 || got.Utilization[2] == 0.5 {
		t.Errorf("found %t, utilization %v; want 0.5 twice, and unknown in a cycle that was not recorded", ok, got.Utilization)
	}
	pods, _ := c.history.Replicas(model, time.Time{}, time.Time{})
	if len(pods.Replicas) != 1 || !pods.Replicas[0].Created.Equal(at.Add(-time.Minute)) {
		t.Errorf("replicas %+v, want the pod with the time of its creation", pods.Replicas)
	}
}

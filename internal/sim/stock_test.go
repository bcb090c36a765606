package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestTheInventoryIsWhatReplicasLeave: three replicas, six, six with three that
// wait, and then two while one of those removed still drains.
func TestTheInventoryIsWhatReplicasLeave(t *testing.T) {
	c := testConfig(trace(100, 1000, 20, 20.1, 20.2, 20.3, 20.4, 20.5))
	c.Models[0].Routing, c.Models[0].Variants[0].Replicas, c.Models[0].Variants[0].Grace = RoundRobin, 3, time.Minute
	c.Models[0].Variants[0].StartUp = StartUp{}
	other := testVariant("b")
	other.Spec.Accelerator, other.Spec.GPUsPerReplica = "H100", 4
	c.Models[0].Variants = append(c.Models[0].Variants, other)
	c.Nodes = []Nodes{{Accelerator: "L40S", Count: 3, GPUs: 2}}
	c.Duration = 50 * time.Second
	var seen []scaling.Inventory
	policy := &scripted{
		every: 8 * time.Second, targets: [][]Target{want(6), want(9), want(5)},
		seen: func(v View) { seen = append(seen, v.Inventory) },
	}
	if _, err := Run(t.Context(), c, policy); err != nil {
		t.Fatal(err)
	}
	h100 := scaling.NodeGroup{Accelerator: "H100", Total: 4 * ample, Free: []scaling.FreeNodes{{GPUs: 4, Nodes: ample}}}
	want := func(free ...scaling.FreeNodes) scaling.Inventory {
		return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{h100, {Accelerator: "L40S", Total: 6, Free: free}}}
	}
	if diff := cmp.Diff([]scaling.Inventory{
		want(scaling.FreeNodes{GPUs: 1, Nodes: 1}, scaling.FreeNodes{GPUs: 2, Nodes: 1}),
		want(), want(),
		want(), // the sixth has a request until 38s, and is there until then
		want(scaling.FreeNodes{GPUs: 1, Nodes: 1}),
	}, seen[:5], cmpopts.IgnoreFields(scaling.Inventory{}, "At")); diff != "" {
		t.Errorf("inventories (-want +got):\n%s", diff)
	}
}

// TestAReplicaThatWaitsTakesTheNodeThatAnotherLeaves: no policy scales when the node
// becomes free.
func TestAReplicaThatWaitsTakesTheNodeThatAnotherLeaves(t *testing.T) {
	c := testConfig(trace(100, 1000, 5)) // until 23s
	c.Models[0].Variants[0].Grace = time.Minute
	waits := testVariant("b")
	waits.Replicas = 0
	c.Models[0].Variants = append(c.Models[0].Variants, waits)
	c.Nodes = []Nodes{{Accelerator: "L40S", Count: 1, GPUs: 1}}
	c.Duration = 2 * time.Minute
	swap := []Target{{Variant: c.Models[0].Variants[0].Spec.Key}, {Variant: waits.Spec.Key, Replicas: 1}}
	r, err := Run(t.Context(), c, &scripted{every: 10 * time.Second, targets: [][]Target{swap}})
	if err != nil {
		t.Fatal(err)
	}
	had, has := r.Models[0].Variants[0].ReplicaHours*3600, r.Models[0].Variants[1].ReplicaHours*3600 // s
	if had < 23 || had > 24 || had+has < 119.99 || had+has > 120 {
		t.Errorf("the node was held for %.2f s by one and for %.2f s by the other, want all of 120 s and the first until its request ends", had, has)
	}
}

// TestALimitedModelAsksForNoMoreThanTheNodesHold offers more than two replicas
// carry to a model that may have ten, on nodes with room for two.
func TestALimitedModelAsksForNoMoreThanTheNodesHold(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limited bool
		quotas  []scaling.Quota
		wanted  scaling.Replicas // at most
	}{
		{"unlimited", false, nil, 10},
		{"limited", true, nil, 2},
		{"limited, with a quota of one", true, []scaling.Quota{{Namespace: "ns", Accelerator: "L40S", GPUs: 1}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testConfig(simtest.Chat(t, "constant(60,10m)", 1))
			c.Models[0].Variants[0].Spec.Bounds.Max = 10
			c.Nodes = []Nodes{{Accelerator: "L40S", Count: 2, GPUs: 1}}
			how := settings.Default()
			how.Limited = tt.limited
			engine := NewEngine(EngineOptions{
				Name: "engine", Policy: func(scaling.ModelKey) settings.Model { return how }, Quotas: tt.quotas,
			})
			r, err := Run(t.Context(), c, engine)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Models[0].Variants[0].Peak; got != tt.wanted && (tt.limited || got <= 2) {
				t.Errorf("%d replicas were wanted at most, want %d", got, tt.wanted)
			}
		})
	}
}

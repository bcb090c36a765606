package constrain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// leavingNode returns a known inventory of one node with free, leaving and promised accelerators.
func leavingNode(free, leaving, promised scaling.Accelerators) scaling.Inventory {
	g := scaling.NodeGroup{Accelerator: "A100", Name: "pool", Total: 8, Promised: promised}
	if free+leaving > 0 {
		g.Free = []scaling.FreeNodes{{GPUs: free, Leaving: leaving, Nodes: 1}}
	}
	return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{g}}
}

func TestReplicasThatNoNodeTakesAreGivenBack(t *testing.T) {
	for _, tc := range []struct {
		name      string
		inventory scaling.Inventory
		bids      []bid
		want      map[string]scaling.Replicas
		says      string // part of the detail of a step of the stage
	}{
		{"one that found no node", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 2}, "2 of 3 replicas: no node has taken 1 of those that there are for 1m0s or longer; each needs 1 A100 on one node, and none is free of 8"},
		{"more are wanted", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 5, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 2}, "2 of 5 replicas"},
		{"room is free again", leavingNode(1, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 3}, ""},
		{"room is promised to it", leavingNode(0, 0, 1), []bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 3}, ""},
		{
			"room is promised to one of two", leavingNode(0, 0, 1),
			[]bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 2, rank: 1}},
			map[string]scaling.Replicas{"v": 2},
			"no node has taken 1",
		},
		{
			"the first in rank is taken to be promised it", leavingNode(0, 0, 1),
			[]bid{{name: "a", on: "A100", have: 3, want: 3, homeless: 1, rank: 2}, {name: "b", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}},
			map[string]scaling.Replicas{"a": 2, "b": 3},
			"",
		},
		{"fewer are wanted anyway", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 2, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 2}, ""},
		{"the minimum waits", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 3, min: 3, homeless: 2, rank: 1}}, map[string]scaling.Replicas{"v": 3}, ""},
		{
			"as many as are beyond the minimum", leavingNode(0, 0, 0),
			[]bid{{name: "v", on: "A100", have: 4, want: 4, min: 3, homeless: 2, rank: 1}},
			map[string]scaling.Replicas{"v": 3},
			"",
		},
		{"the last of a model waits", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 2, want: 2, homeless: 2, rank: 1}}, map[string]scaling.Replicas{"v": 1}, ""},
		{
			"not while nothing is known of its load", leavingNode(0, 0, 0),
			[]bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, rank: 1, blind: true}},
			map[string]scaling.Replicas{"v": 3},
			"",
		},
		{"not where nothing limits it", leavingNode(0, 0, 0), []bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, free: true}}, map[string]scaling.Replicas{"v": 3}, ""},
		{"not while the stock is not known", scaling.Inventory{}, []bid{{name: "v", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}}, map[string]scaling.Replicas{"v": 3}, ""},
		{
			"a lower rank makes room", leavingNode(0, 0, 0),
			[]bid{{name: "low", on: "A100", have: 3, want: 3, rank: 9}, {name: "high", on: "A100", have: 3, want: 3, homeless: 1, rank: 1}},
			map[string]scaling.Replicas{"low": 2, "high": 2},
			"1 replica with 1 A100 go back to ns/high",
		},
		{
			"and for those up to the minimum, which wait for it", leavingNode(0, 0, 0),
			[]bid{{name: "low", on: "A100", have: 3, want: 3, rank: 9}, {name: "high", on: "A100", have: 3, want: 3, min: 3, homeless: 1, rank: 1}},
			map[string]scaling.Replicas{"low": 2, "high": 3},
			"",
		},
		{
			"those of a lower rank that no node takes make none", leavingNode(0, 0, 0),
			[]bid{{name: "low", on: "A100", have: 4, want: 4, homeless: 2, rank: 9}, {name: "high", on: "A100", have: 1, want: 2, rank: 1}},
			map[string]scaling.Replicas{"low": 1, "high": 1},
			"go back to ns/high",
		},
		{
			"a removal of such a one makes none", leavingNode(0, 0, 0),
			[]bid{{name: "low", on: "A100", have: 4, want: 3, homeless: 1, rank: 9}, {name: "high", on: "A100", have: 1, want: 2, rank: 1}},
			map[string]scaling.Replicas{"low": 2, "high": 1},
			"go back to ns/high",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, plan := contestOf(tc.inventory, nil, tc.bids...)
			got := Capacity(in, plan)
			if diff := cmp.Diff(tc.want, targetsOf(got)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if said := saidOf(got); !strings.Contains(said, tc.says) {
				t.Errorf("said %q, want %q in it", said, tc.says)
			}
		})
	}
}

// saidOf returns the details of the steps of the capacity stage.
func saidOf(p scaling.Plan) string {
	var said []string
	for _, d := range p.Decisions {
		if last := d.Steps[len(d.Steps)-1]; last.Stage == scaling.StageCapacity {
			said = append(said, last.Detail)
		}
	}
	return strings.Join(said, "\n")
}

func TestReplicasAreGivenBackAfterAMinuteAndTwoMoreCycles(t *testing.T) {
	for _, tc := range []struct {
		name     string
		interval time.Duration
		want     int // the cycle that gives one back, from 1
	}{
		{"every second", time.Second, 61},
		{"every 30 seconds", 30 * time.Second, 3},
		{"every 5 minutes", 5 * time.Minute, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, plan := contestOf(leavingNode(0, 0, 0), nil, bid{name: "v", on: "A100", have: 2, want: 2, homeless: 1, rank: 1})
			key := plan.Decisions[0].Variant
			var past memory.Past
			for cycle := 1; cycle <= tc.want; cycle++ {
				in.Now = start.Add(time.Duration(cycle) * tc.interval)
				past = past.Observe(in.Variants[key].Replicas, in.Now)
				in.History[key] = past
				d := Capacity(in, plan).Decisions[0]
				if given := d.Target() < 2; given != (cycle == tc.want) {
					t.Fatalf("cycle %d: %d replicas, want one given back in cycle %d: %+v", cycle, d.Target(), tc.want, d.Steps)
				}
			}
		})
	}
}

func TestNoModelReturnsWhatOthersAreLeaving(t *testing.T) {
	gold := bid{name: "gold", on: "A100", have: 2, want: 3, rank: 1}
	silver := bid{name: "silver", on: "A100", have: 2, want: 2, rank: 5}
	for _, tc := range []struct {
		name      string
		inventory scaling.Inventory
		others    []bid
		want      map[string]scaling.Replicas
	}{
		{"nothing leaves", leavingNode(0, 0, 0), []bid{gold, silver}, map[string]scaling.Replicas{"gold": 2, "silver": 1}},
		{"a pod that terminates", leavingNode(0, 1, 0), []bid{gold, silver}, map[string]scaling.Replicas{"gold": 2, "silver": 2}},
		{
			"a pod beyond the replicas", leavingNode(0, 0, 0),
			[]bid{gold, silver, {name: "bronze", on: "A100", have: 2, want: 3, surplus: 1, rank: 9}},
			map[string]scaling.Replicas{"gold": 2, "silver": 2, "bronze": 2},
		},
		{
			"a replica that the target has still", leavingNode(0, 0, 0),
			[]bid{gold, silver, {name: "bronze", on: "A100", have: 2, want: 1, rank: 9}},
			map[string]scaling.Replicas{"gold": 2, "silver": 2, "bronze": 1},
		},
		{
			"one of two that are short", leavingNode(0, 1, 0),
			[]bid{{name: "gold", on: "A100", have: 2, want: 4, rank: 1}, {name: "silver", on: "A100", have: 3, want: 3, rank: 5}},
			map[string]scaling.Replicas{"gold": 2, "silver": 2},
		},
		{
			"too few on one node", leavingNode(0, 1, 0),
			[]bid{{name: "gold", on: "A100", gpus: 2, want: 1, rank: 1}, {name: "silver", on: "A100", gpus: 2, have: 2, want: 2, rank: 5}},
			map[string]scaling.Replicas{"gold": 0, "silver": 1},
		},
		{
			"together with what is free", leavingNode(1, 1, 0),
			[]bid{{name: "gold", on: "A100", gpus: 2, want: 1, rank: 1}, {name: "silver", on: "A100", gpus: 2, have: 2, want: 2, rank: 5}},
			map[string]scaling.Replicas{"gold": 0, "silver": 2},
		},
		{
			"one that was told to go before its equals", leavingNode(0, 0, 0),
			[]bid{gold, silver, {name: "other", on: "A100", have: 2, want: 2, load: 9, goes: 1, rank: 5}},
			map[string]scaling.Replicas{"gold": 2, "silver": 2, "other": 1},
		},
		{
			"one below its minimum before a higher rank", leavingNode(0, 1, 0),
			[]bid{gold, {name: "bronze", on: "A100", want: 1, min: 1, rank: 9}},
			map[string]scaling.Replicas{"gold": 2, "bronze": 0},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, plan := contestOf(tc.inventory, nil, tc.others...)
			if diff := cmp.Diff(tc.want, targetsOf(Capacity(in, plan))); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheSurgeOfARolloutLeavesNothing: surge pods stay for longer than a controller takes to end
// pods, so they do not count as leaving.
func TestTheSurgeOfARolloutLeavesNothing(t *testing.T) {
	in, plan := contestOf(leavingNode(0, 0, 0), nil,
		bid{name: "high", on: "A100", have: 1, want: 2, rank: 1}, bid{name: "low", on: "A100", have: 2, want: 2, surplus: 1, rank: 9})
	in.Now = in.Now.Add(surplusFor + time.Second)
	if got := targetsOf(Capacity(in, plan)); got["low"] != 1 {
		t.Errorf("got %v, want the lower rank to return one", got)
	}
}

// TestWhatDoesNotLeaveMakesNoRoom: a target that no scaler reduces must not prevent others
// from returning replicas.
func TestWhatDoesNotLeaveMakesNoRoom(t *testing.T) {
	for after, want := range map[time.Duration]map[string]scaling.Replicas{
		leavesFor:               {"gold": 2, "silver": 2, "bronze": 1},
		leavesFor + time.Second: {"gold": 2, "silver": 1, "bronze": 1},
	} {
		in, plan := contestOf(leavingNode(0, 0, 0), nil,
			bid{name: "gold", on: "A100", have: 2, want: 3, rank: 1}, bid{name: "silver", on: "A100", have: 2, want: 2, rank: 5},
			bid{name: "bronze", on: "A100", have: 2, want: 1, goes: 1, rank: 9})
		in.Now = in.Now.Add(after)
		if diff := cmp.Diff(want, targetsOf(Capacity(in, plan))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", after, diff)
		}
	}
}

// TestABorrowerGivesBackFirstWhatHasNotStarted: otherwise it loses a running replica and keeps
// waiting with another.
func TestABorrowerGivesBackFirstWhatHasNotStarted(t *testing.T) {
	quotas := []scaling.Quota{{Namespace: "a", Accelerator: "A100", GPUs: 2}, {Namespace: "b", Accelerator: "A100", GPUs: 4}}
	for name, tc := range map[string]struct {
		free scaling.Accelerators
		want map[string]scaling.Replicas
	}{
		"where a node has room":       {1, map[string]scaling.Replicas{"a/runs": 4, "a/waits": 1, "b/owner": 1}},
		"not where the room is taken": {0, map[string]scaling.Replicas{"a/runs": 3, "a/waits": 2, "b/owner": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			in, plan := contestOf(nodes("A100", tc.free), quotas, bid{name: "a/runs", on: "A100", have: 4, want: 4, rank: 1},
				bid{name: "a/waits", on: "A100", have: 2, want: 2, load: 9, rank: 1}, bid{name: "b/owner", on: "A100", have: 1, want: 2, rank: 1})
			for key, v := range in.Variants {
				if v.Key.Name == "waits" {
					v.Replicas.Ready, v.Replicas.Pending, v.Replicas.Unschedulable = 1, 1, 1
					in.Variants[key] = v
				}
			}
			if diff := cmp.Diff(tc.want, targetsOf(Capacity(in, plan))); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

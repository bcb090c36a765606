package constrain

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// nodesWith returns a stock of H100: the number of nodes for each number of free accelerators.
func nodesWith(free map[scaling.Accelerators]int) scaling.Inventory {
	g := scaling.NodeGroup{Accelerator: "H100", Total: 1000}
	for gpus, nodes := range free {
		g.Free = append(g.Free, scaling.FreeNodes{GPUs: gpus, Nodes: nodes})
	}
	return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{g}}
}

// TestAReplicaOfSeveralPodsTakesThemFromSeveralNodes: no single node has all accelerators, and a
// replica gets all of its pods or none.
func TestAReplicaOfSeveralPodsTakesThemFromSeveralNodes(t *testing.T) {
	one := func(gpus scaling.Accelerators) scaling.Variant { return scaling.Variant{GPUsRequested: gpus} }
	group := func(first scaling.Accelerators, workers int, each scaling.Accelerators) scaling.Variant {
		return scaling.Variant{GPUsRequested: first + scaling.Accelerators(workers)*each, Workers: workers, GPUsPerWorker: each}
	}
	for _, tc := range []struct {
		name    string
		variant scaling.Variant
		free    map[scaling.Accelerators]int
		want    int // replicas
	}{
		{"one pod needs one node", one(32), map[scaling.Accelerators]int{8: 9}, 0},
		{"four pods take four nodes", group(8, 3, 8), map[scaling.Accelerators]int{8: 9}, 2},
		{"small pods share a node", group(2, 3, 2), map[scaling.Accelerators]int{8: 2}, 2},
		{"a leader without accelerators", group(0, 4, 8), map[scaling.Accelerators]int{8: 4}, 1},
		{"a leader that needs less", group(1, 2, 8), map[scaling.Accelerators]int{8: 2, 1: 1}, 1},
		{"a leader that needs less, and no node for it", group(1, 2, 8), map[scaling.Accelerators]int{8: 2}, 0},
		{"a leader that needs more", group(8, 2, 4), map[scaling.Accelerators]int{8: 2}, 1},
		{"a million workers", group(8, 1<<20, 8), map[scaling.Accelerators]int{8: 9}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.variant.Accelerator = "H100"
			inventory := nodesWith(tc.free)
			s, got := newStock(inventory), 0
			if places := inventory.Places(tc.variant); places != (tc.want > 0) {
				t.Errorf("Places is %t, want %t", places, tc.want > 0)
			}
			for s.place(tc.variant, free) {
				got++
			}
			if got != tc.want {
				t.Errorf("%d replicas have a place, want %d", got, tc.want)
			}
			// A replica that did not fit took nothing.
			if rest := unused(newStock(inventory)) - scaling.Accelerators(got)*tc.variant.GPUs(1); unused(s) != rest {
				t.Errorf("%d accelerators are left, want %d", unused(s), rest)
			}
		})
	}
}

// unused counts the accelerators that are free.
func unused(s *stock) (n scaling.Accelerators) {
	for _, g := range s.groups {
		for _, f := range g.Free {
			n += f.GPUs * scaling.Accelerators(f.Nodes)
		}
	}
	return n
}

// TestWhatAGroupNeedsIsSaidByPod: the text does not treat a group as one pod.
func TestWhatAGroupNeedsIsSaidByPod(t *testing.T) {
	for want, v := range map[string]scaling.Variant{
		"8 H100 on one node":                    {GPUsRequested: 8},
		"8 H100 on one node for each of 4 pods": {GPUsRequested: 32, Workers: 3, GPUsPerWorker: 8},
		"8 H100 on one node for each of 3 pods and 2 H100 on one node for one pod": {GPUsRequested: 26, Workers: 3, GPUsPerWorker: 8},
	} {
		v.Accelerator = "H100"
		if got := needs(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAGroupMakesRoomForWhatItsNodesHold: several small nodes do not make a large one.
func TestAGroupMakesRoomForWhatItsNodesHold(t *testing.T) {
	group := scaling.Variant{GPUsRequested: 32, Workers: 3, GPUsPerWorker: 8}
	half := scaling.Variant{GPUsRequested: 16, Workers: 1, GPUsPerWorker: 8}
	for _, tc := range []struct {
		name      string
		of, other scaling.Variant
		want      bool
	}{
		{"a group for its like", group, group, true},
		{"a group for half of it", group, half, true},
		{"half of it for a group", half, group, false},
		{"a group for one pod of a node", group, scaling.Variant{GPUsRequested: 8}, true},
		{"a group for one pod of more than a node", group, scaling.Variant{GPUsRequested: 16}, false},
		{"one pod for another", scaling.Variant{GPUsRequested: 8}, scaling.Variant{GPUsRequested: 4}, true},
	} {
		if got := tc.of.Houses(tc.other); got != tc.want {
			t.Errorf("%s: got %t", tc.name, got)
		}
	}
}

package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ample is the number of nodes of an accelerator that never runs out: more than any fleet wants,
// and small enough to be multiplied.
const ample = 1 << 20

// inventory returns the accelerators as internal/discovery counts them: of all nodes, less those of
// every placed pod, draining ones included. A pod that waits for a node takes nothing.
func (w *world) inventory() scaling.Inventory {
	known := scaling.Inventory{Known: true, At: w.clock(w.now), Groups: w.endless()}
	for _, n := range w.cfg.Nodes {
		known.Groups = append(known.Groups, scaling.NodeGroup{Accelerator: n.Accelerator, Total: n.GPUs.Times(n.Count), Free: free(w.stock[n.Accelerator])})
	}
	slices.SortFunc(known.Groups, func(a, b scaling.NodeGroup) int { return strings.Compare(a.Accelerator, b.Accelerator) })
	return known
}

// free counts the nodes by their free accelerators. Full nodes are left out.
func free(nodes []scaling.Accelerators) []scaling.FreeNodes {
	count := map[scaling.Accelerators]int{}
	for _, gpus := range nodes {
		if gpus > 0 {
			count[gpus]++
		}
	}
	var out []scaling.FreeNodes
	for _, gpus := range slices.Sorted(maps.Keys(count)) {
		out = append(out, scaling.FreeNodes{GPUs: gpus, Nodes: count[gpus]})
	}
	return out
}

// endless returns the accelerators of variants that never run out, in no order.
func (w *world) endless() []scaling.NodeGroup {
	largest := map[string]scaling.Accelerators{} // accelerators of one replica
	for _, v := range w.variants {
		if _, limited := w.stock[v.Spec.Accelerator]; !limited {
			largest[v.Spec.Accelerator] = max(largest[v.Spec.Accelerator], v.Spec.GPUsPerReplica)
		}
	}
	var out []scaling.NodeGroup
	for accelerator, gpus := range largest {
		out = append(out, scaling.NodeGroup{Accelerator: accelerator, Total: gpus * ample, Free: []scaling.FreeNodes{{GPUs: gpus, Nodes: ample}}})
	}
	return out
}

package scaling

import (
	"maps"
	"slices"
	"time"
)

// Inventory is the stock of accelerators on which pods can be placed: those of Ready nodes that are
// not cordoned, minus the requests of all pods in the cluster. The zero value is unknown, which is
// not the same as none.
type Inventory struct {
	Known  bool        `json:"known"`
	At     time.Time   `json:"at,omitzero"`
	Groups []NodeGroup `json:"groups,omitempty"` // sorted by Accelerator, Name
}

// NodeGroup is the nodes of one group with one type of accelerator.
type NodeGroup struct {
	Accelerator string       `json:"accelerator"` // canonical type
	Name        string       `json:"name"`        // of the group, "" for nodes without one
	Total       Accelerators `json:"total"`       // accelerators, in use or not
	// Promised counts the free and leaving accelerators that pods waiting for a node will take.
	// Free does not contain them.
	Promised Accelerators `json:"promised,omitempty"`
	// Free lists the nodes that have free or leaving accelerators, sorted by GPUs, Leaving. A pod
	// needs all its accelerators on one node: eight nodes with one each hold no pod of 8.
	Free []FreeNodes `json:"free,omitempty"`
}

// Places reports whether nodes have free accelerators now for every pod of one replica of v.
func (i Inventory) Places(v Variant) bool {
	nodes := map[Accelerators]int{} // by free accelerators
	for _, g := range i.Groups {
		if g.Accelerator == v.Accelerator {
			for _, f := range g.Free {
				nodes[f.GPUs] += f.Nodes
			}
		}
	}
	for _, p := range v.PodsOfReplica() {
		pods := int(p.Pods)
		for _, free := range slices.Sorted(maps.Keys(nodes)) {
			if free < p.GPUs || pods == 0 {
				continue
			}
			each := int(free / p.GPUs)
			n := min(nodes[free], (pods+each-1)/each)
			pods = max(0, pods-n*each)
			nodes[free] -= n
			nodes[free-Accelerators(each)*p.GPUs] += n
		}
		if pods > 0 {
			return false
		}
	}
	return true
}

// FreeNodes are nodes with equally many free accelerators, now and soon.
type FreeNodes struct {
	GPUs Accelerators `json:"gpus"` // free on each, >= 0
	// Leaving is the number on each node that terminating pods still hold, >= 0; they will be free
	// besides GPUs. One of the two is above 0.
	Leaving Accelerators `json:"leaving,omitempty"`
	Nodes   int          `json:"nodes"` // how many such nodes there are, >= 1
}

// Quota is the number of accelerators of a type that a namespace owns. A pair
// without a Quota is not limited by one.
type Quota struct {
	Namespace   string       `json:"namespace"`
	Accelerator string       `json:"accelerator"` // canonical type
	GPUs        Accelerators `json:"gpus"`        // >= 0
}

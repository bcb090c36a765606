package scaling

import (
	"maps"
	"slices"
	"time"
)

// Inventory is the stock of accelerators that pods can be placed on: of nodes
// that are Ready and not cordoned, minus what every pod of the cluster asks for.
// The zero value is unknown, which is not the same as none.
type Inventory struct {
	Known  bool        `json:"known"`
	At     time.Time   `json:"at,omitzero"`
	Groups []NodeGroup `json:"groups,omitempty"` // sorted by Accelerator, Name
}

// NodeGroup is the nodes of one group with one type of accelerator.
type NodeGroup struct {
	Accelerator string       `json:"accelerator"` // canonical type
	Name        string       `json:"name"`        // of the group, "" where nodes have none
	Total       Accelerators `json:"total"`       // accelerators, in use or not
	// Promised is the part of what is free, or will be, that pods without a node find
	// room on: Free is without it.
	Promised Accelerators `json:"promised,omitempty"`
	// Free lists the nodes that have any left, or will have, sorted by GPUs, Leaving.
	// A pod has all its accelerators on one node: eight nodes with one each hold no pod
	// of 8.
	Free []FreeNodes `json:"free,omitempty"`
}

// Places reports whether nodes have room now for every pod of one replica of v.
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
	// Leaving are those on each that pods hold which are ending, >= 0: free once they
	// have ended, besides GPUs. One of the two is above 0.
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

package constrain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// stock holds the accelerators that are free, or will be soon, node by node.
type stock struct {
	groups   []group                         // sorted by accelerator, name
	promised map[string]scaling.Accelerators // by type, to pods that wait for a node
}

// group is a group of nodes with its own copy of the Free list, which has one entry for each pair
// of free and leaving accelerators.
type group struct{ scaling.NodeGroup }

// add adds nodes with the given free and leaving accelerators.
func (g *group) add(f scaling.FreeNodes) {
	f.GPUs, f.Leaving = max(0, f.GPUs), max(0, f.Leaving)
	if f.GPUs+f.Leaving == 0 {
		return
	}
	if i := slices.IndexFunc(g.Free, func(o scaling.FreeNodes) bool { return o.GPUs == f.GPUs && o.Leaving == f.Leaving }); i >= 0 {
		g.Free[i].Nodes += f.Nodes
		return
	}
	g.Free = append(g.Free, f)
}

func newStock(inventory scaling.Inventory) *stock {
	s := &stock{promised: map[string]scaling.Accelerators{}}
	for _, g := range inventory.Groups {
		own := group{g}
		own.Free = nil
		for _, f := range g.Free {
			own.add(f)
		}
		s.promised[g.Accelerator] += g.Promised
		s.groups = append(s.groups, own)
	}
	slices.SortFunc(s.groups, func(a, b group) int {
		return cmp.Or(strings.Compare(a.Accelerator, b.Accelerator), strings.Compare(a.Name, b.Name))
	})
	return s
}

// free and soon return the accelerators of a node: those free now, and those free after the ending
// pods have ended.
func free(f scaling.FreeNodes) scaling.Accelerators { return f.GPUs }
func soon(f scaling.FreeNodes) scaling.Accelerators { return f.GPUs + f.Leaving }

// leaves adds the accelerators that so many ending replicas of a variant will free.
func (s *stock) leaves(v scaling.Variant, replicas scaling.Replicas) {
	for _, p := range v.PodsOfReplica() {
		s.leave(v.Accelerator, p.GPUs, int(p.Pods*replicas))
	}
}

// leave adds nodes, on each of which so many accelerators will be free.
func (s *stock) leave(accelerator string, gpus scaling.Accelerators, nodes int) {
	i := slices.IndexFunc(s.groups, func(g group) bool { return g.Accelerator == accelerator })
	if i >= 0 { // otherwise no node has the type
		s.groups[i].add(scaling.FreeNodes{Leaving: gpus, Nodes: nodes})
	}
}

// keep takes accelerators promised to a waiting pod, and reports whether there were enough.
func (s *stock) keep(accelerator string, gpus scaling.Accelerators) bool {
	if s.promised[accelerator] < gpus {
		return false
	}
	s.promised[accelerator] -= gpus
	return true
}

// place takes a node for each pod of one replica of a variant, or for none. It reports whether all
// pods have one.
func (s *stock) place(v scaling.Variant, has func(scaling.FreeNodes) scaling.Accelerators) bool {
	if v.Workers <= 0 {
		return s.take(v.Accelerator, v.GPUs(1), has)
	}
	before := make([][]scaling.FreeNodes, len(s.groups))
	for i, g := range s.groups {
		before[i] = slices.Clone(g.Free)
	}
	for _, p := range v.PodsOfReplica() {
		for range p.Pods { // returns where no node is left
			if !s.take(v.Accelerator, p.GPUs, has) {
				for i := range s.groups {
					s.groups[i].Free = before[i]
				}
				return false
			}
		}
	}
	return true
}

// take places a pod on the node where it leaves the fewest accelerators, counted by has, so that
// large free blocks stay large. Among equals it takes the node with the fewest free now, in the
// first group. It reports whether a node had room.
func (s *stock) take(accelerator string, gpus scaling.Accelerators, has func(scaling.FreeNodes) scaling.Accelerators) bool {
	var best scaling.FreeNodes
	in, at := -1, 0
	for i, g := range s.groups {
		if g.Accelerator != accelerator {
			continue
		}
		for j, f := range g.Free {
			if f.Nodes > 0 && has(f) >= gpus && (in < 0 || cmp.Or(cmp.Compare(has(f), has(best)), cmp.Compare(f.GPUs, best.GPUs), cmp.Compare(f.Leaving, best.Leaving)) < 0) {
				in, at, best = i, j, f
			}
		}
	}
	if in < 0 {
		return false
	}
	fromFree := min(gpus, best.GPUs)
	s.groups[in].Free[at].Nodes--
	s.groups[in].add(scaling.FreeNodes{GPUs: best.GPUs - fromFree, Leaving: best.Leaving - (gpus - fromFree), Nodes: 1})
	return true
}

// groupsAtMost is how many sorts of free nodes a message names.
const groupsAtMost = 6

// describe returns what is free of a type: "3 nodes of l40s-pool with 1 free".
func (s *stock) describe(accelerator string) string {
	var out []string
	for _, g := range s.groups {
		if g.Accelerator != accelerator {
			continue
		}
		nodes := map[scaling.Accelerators]int{} // by free accelerators
		for _, f := range g.Free {
			if f.Nodes > 0 && f.GPUs > 0 {
				nodes[f.GPUs] += f.Nodes
			}
		}
		for _, gpus := range slices.Backward(slices.Sorted(maps.Keys(nodes))) {
			out = append(out, fmt.Sprintf("%d nodes%s with %d free", nodes[gpus], inGroup(g.Name), gpus))
		}
	}
	if len(out) == 0 {
		return "none is free"
	}
	return scaling.FirstOf(out, groupsAtMost, func(text string) string { return text })
}

func inGroup(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// total returns how many accelerators of a type exist.
func (s *stock) total(accelerator string) scaling.Accelerators {
	sum := scaling.Accelerators(0)
	for _, g := range s.groups {
		if g.Accelerator == accelerator {
			sum += g.Total
		}
	}
	return sum
}

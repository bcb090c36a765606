package constrain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// stock is the accelerators that nobody uses, node by node.
type stock struct {
	groups []group // sorted by accelerator, name
}

// group is a group of nodes whose Free list is its own, with one entry for each
// number of accelerators.
type group struct{ scaling.NodeGroup }

// add makes nodes with so many free ones more.
func (g *group) add(gpus, nodes int) {
	if gpus <= 0 {
		return
	}
	if i := slices.IndexFunc(g.Free, func(f scaling.FreeNodes) bool { return f.GPUs == gpus }); i >= 0 {
		g.Free[i].Nodes += nodes
		return
	}
	g.Free = append(g.Free, scaling.FreeNodes{GPUs: gpus, Nodes: nodes})
}

func newStock(inventory scaling.Inventory) *stock {
	s := &stock{}
	for _, g := range inventory.Groups {
		own := group{g}
		own.Free = nil
		for _, f := range g.Free {
			own.add(f.GPUs, f.Nodes)
		}
		s.groups = append(s.groups, own)
	}
	slices.SortFunc(s.groups, func(a, b group) int {
		return cmp.Or(strings.Compare(a.Accelerator, b.Accelerator), strings.Compare(a.Name, b.Name))
	})
	return s
}

// take places a replica on the node that it leaves the least free of, so that
// large holes stay large; among equals in the first group. It reports whether
// there was one.
func (s *stock) take(accelerator string, gpus int) bool {
	best, at := -1, 0
	for i, g := range s.groups {
		if g.Accelerator != accelerator {
			continue
		}
		for j, f := range g.Free {
			if f.Nodes > 0 && f.GPUs >= gpus && (best < 0 || f.GPUs < s.groups[best].Free[at].GPUs) {
				best, at = i, j
			}
		}
	}
	if best < 0 {
		return false
	}
	from := &s.groups[best]
	from.Free[at].Nodes--
	from.add(from.Free[at].GPUs-gpus, 1)
	return true
}

// describe says what is left of a type: "l40s-pool has 3 nodes with 1 free".
func (s *stock) describe(accelerator string) string {
	var out []string
	for _, g := range s.groups {
		if g.Accelerator != accelerator {
			continue
		}
		free := slices.Clone(g.Free)
		slices.SortFunc(free, func(a, b scaling.FreeNodes) int { return cmp.Compare(b.GPUs, a.GPUs) })
		for _, f := range free {
			if f.Nodes > 0 {
				out = append(out, fmt.Sprintf("%d nodes%s with %d free", f.Nodes, inGroup(g.Name), f.GPUs))
			}
		}
	}
	if len(out) == 0 {
		return "none is free"
	}
	return strings.Join(out, ", ")
}

func inGroup(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// total is how many accelerators of a type there are.
func (s *stock) total(accelerator string) int {
	sum := 0
	for _, g := range s.groups {
		if g.Accelerator == accelerator {
			sum += g.Total
		}
	}
	return sum
}

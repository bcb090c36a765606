package discovery

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// tally counts accelerators while nodes and pods come and go. It keeps nothing of
// nodes without accelerators and of pods that take none. It is not safe for
// concurrent use.
type tally struct {
	vendors []vendor
	nodes   map[string]stockNode
	pods    map[types.NamespacedName]stockPod // that have a node
	waiting map[types.NamespacedName]stockPod
	used    map[string][]int // by node and vendor, of pods
}

func newTally(of []vendor) *tally {
	t := &tally{vendors: of}
	t.dropNodes()
	t.dropPods()
	return t
}

func (t *tally) dropNodes() { t.nodes = map[string]stockNode{} }

func (t *tally) dropPods() {
	t.pods, t.waiting = map[types.NamespacedName]stockPod{}, map[types.NamespacedName]stockPod{}
	t.used = map[string][]int{}
}

// setNode takes over a node as it is now.
func (t *tally) setNode(n *corev1.Node) {
	if kept, ok := stockNodeOf(n, t.vendors); ok {
		t.nodes[n.Name] = kept
		return
	}
	delete(t.nodes, n.Name)
}

func (t *tally) dropNode(n *corev1.Node) { delete(t.nodes, n.Name) }

// setPod takes over a pod as it is now.
func (t *tally) setPod(p *corev1.Pod) {
	t.dropPod(p)
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	switch kept, ok := stockPodOf(p, t.vendors); {
	case !ok:
	case kept.node == "":
		t.waiting[name] = kept
	default:
		t.pods[name] = kept
		t.use(kept, 1)
	}
}

func (t *tally) dropPod(p *corev1.Pod) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if kept, ok := t.pods[name]; ok {
		t.use(kept, -1)
		delete(t.pods, name)
	}
	delete(t.waiting, name)
}

// use adds what a pod takes from its node, or takes it away again.
func (t *tally) use(p stockPod, sign int) {
	used := t.used[p.node]
	if used == nil {
		used = make([]int, len(t.vendors))
		t.used[p.node] = used
	}
	for _, q := range p.portions {
		used[q.vendor] += sign * q.gpus
	}
	if !slices.ContainsFunc(used, func(n int) bool { return n != 0 }) {
		delete(t.used, p.node)
	}
}

// place is a shelf of a node that takes pods, and what is free on it.
type place struct {
	node *stockNode
	shelf
	free int
}

// groups returns the stock in groups, what waiting pods will take taken off, and
// how many nodes that take pods have accelerators that nothing names: those are
// in no group.
func (t *tally) groups() (groups []scaling.NodeGroup, unnamed int) {
	places := t.places()
	w := waitingRoom{places: places, fitting: map[queue][]int{}, full: map[seat]bool{}}
	w.seatAll(t.waiting)

	type key struct{ accelerator, name string }
	byKey := map[key]*scaling.NodeGroup{}
	nodes := map[key]map[int]int{} // how many by what is free on them
	for _, p := range places {
		if p.accelerator == "" {
			unnamed++
			continue
		}
		k := key{p.accelerator, p.node.group}
		if byKey[k] == nil {
			byKey[k] = &scaling.NodeGroup{Accelerator: k.accelerator, Name: k.name}
			nodes[k] = map[int]int{}
		}
		byKey[k].Total += p.total
		if p.free > 0 {
			nodes[k][p.free]++
		}
	}
	for k, g := range byKey {
		for _, gpus := range slices.Sorted(maps.Keys(nodes[k])) {
			g.Free = append(g.Free, scaling.FreeNodes{GPUs: gpus, Nodes: nodes[k][gpus]})
		}
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b scaling.NodeGroup) int {
		return cmp.Or(strings.Compare(a.Accelerator, b.Accelerator), strings.Compare(a.Name, b.Name))
	})
	return groups, unnamed
}

// places returns the shelves of the nodes that take pods, by the names of the
// nodes.
func (t *tally) places() []place {
	out := make([]place, 0, len(t.nodes))
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		if !n.open {
			continue
		}
		used := t.used[name]
		for _, s := range n.shelves {
			p := place{node: &n, shelf: s, free: s.total}
			if used != nil {
				p.free = max(0, p.free-used[s.vendor])
			}
			out = append(out, p)
		}
	}
	return out
}

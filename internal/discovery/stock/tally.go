package stock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// tally counts accelerators while nodes and pods change. It keeps nothing of nodes without
// accelerators and of pods that take none. It is not safe for concurrent use.
type tally struct {
	vendors []vendor
	nodes   map[string]stockNode
	pods    map[types.NamespacedName]stockPod // with a node
	waiting map[types.NamespacedName]stockPod
	used    map[string][]scaling.Accelerators // by the pods, by node and vendor
	ending  map[types.NamespacedName]stockPod // the pods that terminate
}

// endsLate is how long after its deadline a terminating pod's accelerators still count as about to
// be free: the kubelet kills the pod at the deadline, and takes some seconds. A finalizer, or a
// lost node, may keep the pod for ever.
const endsLate = time.Minute

func newTally(of []vendor) *tally {
	t := &tally{vendors: of}
	t.dropNodes()
	t.dropPods()
	return t
}

func (t *tally) dropNodes() { t.nodes = map[string]stockNode{} }

func (t *tally) dropPods() {
	t.pods, t.waiting = map[types.NamespacedName]stockPod{}, map[types.NamespacedName]stockPod{}
	t.used, t.ending = map[string][]scaling.Accelerators{}, map[types.NamespacedName]stockPod{}
}

// setNode records a node in its present state.
func (t *tally) setNode(n *corev1.Node) {
	if kept, ok := stockNodeOf(n, t.vendors); ok {
		t.nodes[n.Name] = kept
		return
	}
	delete(t.nodes, n.Name)
}

func (t *tally) dropNode(n *corev1.Node) { delete(t.nodes, n.Name) }

// setPod records a pod in its present state.
func (t *tally) setPod(p *corev1.Pod) {
	t.dropPod(p)
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	switch kept, ok := stockPodOf(p, t.vendors); {
	case !ok:
	case kept.node == "":
		t.waiting[name] = kept
	default:
		t.pods[name] = kept
		use(t.used, kept, 1, len(t.vendors))
		if !kept.ends.IsZero() {
			t.ending[name] = kept
		}
	}
}

func (t *tally) dropPod(p *corev1.Pod) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if kept, ok := t.pods[name]; ok {
		use(t.used, kept, -1, len(t.vendors))
		delete(t.pods, name)
		delete(t.ending, name)
	}
	delete(t.waiting, name)
}

// use adds the accelerators of a pod to those used by node and vendor; with sign -1 it subtracts
// them.
func use(by map[string][]scaling.Accelerators, p stockPod, sign, vendors int) {
	used := by[p.node]
	if used == nil {
		used = make([]scaling.Accelerators, vendors)
		by[p.node] = used
	}
	for _, q := range p.portions {
		used[q.vendor] += q.gpus.Times(sign)
	}
	if !slices.ContainsFunc(used, func(n scaling.Accelerators) bool { return n != 0 }) {
		delete(by, p.node)
	}
}

// place is the accelerators of one vendor on a node that takes new pods.
type place struct {
	node *stockNode
	nodeCapacity
	free     scaling.Accelerators
	leaving  scaling.Accelerators // that will be free once pods have terminated
	promised scaling.Accelerators // to waiting pods, and taken off free and leaving
}

// groups returns the stock in groups at now, minus what is promised to waiting pods. unnamed is the
// number of places whose product no label names; they are in no group.
func (t *tally) groups(now time.Time) (groups []scaling.NodeGroup, unnamed int) {
	places := t.places(now)
	w := pendingPods{places: places, fitting: map[queue][]int{}, unplaceable: map[podRequest]bool{}}
	w.placeAll(t.waiting)

	type key struct{ accelerator, name string }
	byKey := map[key]*scaling.NodeGroup{}
	type left struct{ gpus, leaving scaling.Accelerators }
	nodes := map[key]map[left]int{} // number of nodes by what is left on them
	for _, p := range places {
		if p.accelerator == "" {
			unnamed++
			continue
		}
		k := key{p.accelerator, p.node.group}
		if byKey[k] == nil {
			byKey[k] = &scaling.NodeGroup{Accelerator: k.accelerator, Name: k.name}
			nodes[k] = map[left]int{}
		}
		byKey[k].Total += p.total
		byKey[k].Promised += p.promised
		if p.free+p.leaving > 0 {
			nodes[k][left{p.free, p.leaving}]++
		}
	}
	for k, g := range byKey {
		for n, count := range nodes[k] {
			g.Free = append(g.Free, scaling.FreeNodes{GPUs: n.gpus, Leaving: n.leaving, Nodes: count})
		}
		slices.SortFunc(g.Free, func(a, b scaling.FreeNodes) int {
			return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Leaving, b.Leaving))
		})
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b scaling.NodeGroup) int {
		return cmp.Or(strings.Compare(a.Accelerator, b.Accelerator), strings.Compare(a.Name, b.Name))
	})
	return groups, unnamed
}

// places returns the accelerators of the nodes that take new pods, sorted by node name.
func (t *tally) places(now time.Time) []place {
	ending := map[string][]scaling.Accelerators{} // by node and vendor
	for _, p := range t.ending {
		if now.Before(p.ends.Add(endsLate)) {
			use(ending, p, 1, len(t.vendors))
		}
	}
	out := make([]place, 0, len(t.nodes))
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		if !n.open {
			continue
		}
		used := t.used[name]
		for _, s := range n.capacities {
			p := place{node: &n, nodeCapacity: s, free: s.total}
			if used != nil {
				p.free = max(0, p.free-used[s.vendor])
				if leaving := ending[name]; leaving != nil { // while pods hold more than there is, the end of one frees less
					p.leaving = max(0, s.total-used[s.vendor]+leaving[s.vendor]) - p.free
				}
			}
			out = append(out, p)
		}
	}
	return out
}

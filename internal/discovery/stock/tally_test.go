package stock

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	nvidia      = corev1.ResourceName("nvidia.com/gpu")
	a100Product = "NVIDIA-A100-SXM4-80GB"
)

// gpuNode returns a Ready node with 8 A100.
func gpuNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": a100Product}},
		Status: corev1.NodeStatus{
			Allocatable: amount(nvidia, 8), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

// of gives a node other accelerators.
func of(label, product string, name corev1.ResourceName, n int64) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Labels = map[string]string{label: product}
		node.Status.Allocatable = amount(name, n)
	}
}

func nodeLabel(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func amount(name corev1.ResourceName, n int64) corev1.ResourceList {
	return corev1.ResourceList{name: *resource.NewQuantity(n, resource.DecimalSI)}
}

// takes returns a container that asks for accelerators.
func takes(n int64) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Limits: amount(nvidia, n)}}
}

// gpuPod returns a pod on a node, "" for one that waits, which asks for
// accelerators.
func gpuPod(name, node string, n int64, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(at(0))},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{takes(n)}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// onlyOn has a pod ask for nodes with a label.
func onlyOn(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// attractedBy has a pod require one of the terms of a node affinity.
func attractedBy(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

func tallyOf(nodes []*corev1.Node, pods []*corev1.Pod) *tally {
	t := newTally(withDomains([]string{"example.com"}))
	for _, p := range pods {
		t.setPod(p)
	}
	for _, n := range nodes {
		t.setNode(n)
	}
	return t
}

func free(pairs ...int) []scaling.FreeNodes {
	var out []scaling.FreeNodes
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, scaling.FreeNodes{GPUs: scaling.Accelerators(pairs[i]), Nodes: pairs[i+1]})
	}
	return out
}

func TestNodesMakeUpGroups(t *testing.T) {
	a100 := func(total int, f ...int) []scaling.NodeGroup {
		return []scaling.NodeGroup{{Accelerator: "A100", Total: scaling.Accelerators(total), Free: free(f...)}}
	}
	notReady := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }
	tests := map[string]struct {
		nodes []*corev1.Node
		want  []scaling.NodeGroup
	}{
		"none":           {nil, nil},
		"equal nodes":    {[]*corev1.Node{gpuNode("a"), gpuNode("b")}, a100(16, 8, 2)},
		"eight with one": {[]*corev1.Node{gpuNode("a", of("nvidia.com/gpu.product", a100Product, nvidia, 1)), gpuNode("b", of("nvidia.com/gpu.product", a100Product, nvidia, 1))}, a100(2, 1, 2)},
		"groups": {
			[]*corev1.Node{gpuNode("a", nodeLabel("karpenter.sh/nodepool", "p")), gpuNode("b", nodeLabel("cloud.google.com/gke-nodepool", "q")), gpuNode("c")},
			[]scaling.NodeGroup{
				{Accelerator: "A100", Total: 8, Free: free(8, 1)},
				{Accelerator: "A100", Name: "p", Total: 8, Free: free(8, 1)},
				{Accelerator: "A100", Name: "q", Total: 8, Free: free(8, 1)},
			},
		},
		"AMD":                {[]*corev1.Node{gpuNode("a", of("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM", "amd.com/gpu", 4))}, []scaling.NodeGroup{{Accelerator: "MI300X", Total: 4, Free: free(4, 1)}}},
		"Intel Gaudi":        {[]*corev1.Node{gpuNode("a", of("intel.com/gpu.product", "Intel-Gaudi-2-96GB", "habana.ai/gaudi", 8))}, []scaling.NodeGroup{{Accelerator: "Gaudi-2", Total: 8, Free: free(8, 1)}}},
		"Intel GPU":          {[]*corev1.Node{gpuNode("a", of("gpu.intel.com/product", "Max_1550", "gpu.intel.com/i915", 4))}, []scaling.NodeGroup{{Accelerator: "Max-1550", Total: 4, Free: free(4, 1)}}},
		"a further vendor":   {[]*corev1.Node{gpuNode("a", of("example.com/gpu.product", "X9", "example.com/gpu", 4))}, []scaling.NodeGroup{{Accelerator: "X9", Total: 4, Free: free(4, 1)}}},
		"named by the cloud": {[]*corev1.Node{gpuNode("a", of("cloud.google.com/gke-accelerator", "nvidia-l4", nvidia, 2))}, []scaling.NodeGroup{{Accelerator: "L4", Total: 2, Free: free(2, 1)}}},
		"two vendors on one node": {
			[]*corev1.Node{gpuNode("a", func(n *corev1.Node) {
				n.Labels["gpu.intel.com/product"] = "Flex_170"
				n.Status.Allocatable["gpu.intel.com/i915"] = resource.MustParse("3")
			})},
			[]scaling.NodeGroup{{Accelerator: "A100", Total: 8, Free: free(8, 1)}, {Accelerator: "Flex-170", Total: 3, Free: free(3, 1)}},
		},
		"not named": {[]*corev1.Node{gpuNode("a", of("zone", "z", nvidia, 8))}, nil},
		"the cloud's name for one of two vendors": {
			[]*corev1.Node{gpuNode("a", of("cloud.google.com/gke-accelerator", "nvidia-l4", nvidia, 2), func(n *corev1.Node) {
				n.Status.Allocatable["gpu.intel.com/i915"] = resource.MustParse("1")
			})}, nil,
		},
		"nothing to allocate": {[]*corev1.Node{gpuNode("a", func(n *corev1.Node) { n.Status.Allocatable = amount(nvidia, 0) })}, nil},
		"not Ready":           {[]*corev1.Node{gpuNode("a", notReady), gpuNode("b")}, a100(8, 8, 1)},
		"no condition":        {[]*corev1.Node{gpuNode("a", func(n *corev1.Node) { n.Status.Conditions = nil })}, nil},
		"cordoned":            {[]*corev1.Node{gpuNode("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }), gpuNode("b")}, a100(8, 8, 1)},
		"being deleted":       {[]*corev1.Node{gpuNode("a", func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(at(1))) })}, nil},
		"reserved":            {[]*corev1.Node{gpuNode("a", tainted("nvidia.com/gpu", corev1.TaintEffectNoSchedule))}, a100(8, 8, 1)},
		"under pressure":      {[]*corev1.Node{gpuNode("a", tainted("node.kubernetes.io/disk-pressure", corev1.TaintEffectNoSchedule))}, nil},
		"drained":             {[]*corev1.Node{gpuNode("a", tainted("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule))}, nil},
		"avoided":             {[]*corev1.Node{gpuNode("a", tainted("karpenter.sh/disrupted", corev1.TaintEffectPreferNoSchedule))}, a100(8, 8, 1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := tallyOf(tt.nodes, nil).groups(at(0))
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestNodesThatNothingNamesAreTold(t *testing.T) {
	_, unnamed := tallyOf([]*corev1.Node{gpuNode("a", of("zone", "z", nvidia, 8)), gpuNode("b")}, nil).groups(at(0))
	if unnamed != 1 {
		t.Errorf("got %d nodes, want 1", unnamed)
	}
}

func TestPodsTakeWhatTheyAskFor(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	tests := map[string]struct {
		init, containers []corev1.Container
		want             int64
	}{
		"containers together":                  {nil, []corev1.Container{takes(2), takes(3)}, 5},
		"a smaller init container":             {[]corev1.Container{takes(4)}, []corev1.Container{takes(2), takes(3)}, 5},
		"the largest init container":           {[]corev1.Container{takes(7), takes(6)}, []corev1.Container{takes(2)}, 7},
		"one that restarts, with those after":  {[]corev1.Container{restarting(takes(2), &always)}, []corev1.Container{takes(3)}, 5},
		"one that restarts before an init one": {[]corev1.Container{restarting(takes(2), &always), takes(4)}, []corev1.Container{takes(3)}, 6},
		"one that restarts after an init one":  {[]corev1.Container{takes(4), restarting(takes(2), &always)}, []corev1.Container{takes(1)}, 4},
		"a request before a limit":             {nil, []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amount(nvidia, 2), Limits: amount(nvidia, 4)}}}, 2},
		"nothing":                              {nil, []corev1.Container{{}}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := asked(&corev1.PodSpec{InitContainers: tt.init, Containers: tt.containers}, nvidia); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func restarting(c corev1.Container, policy *corev1.ContainerRestartPolicy) corev1.Container {
	c.RestartPolicy = policy
	return c
}

func TestPodsTakeAcceleratorsFromTheStock(t *testing.T) {
	gone := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(at(-60))) } // and no pod waits for it any more
	deleting := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(at(1))) }
	gated := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
	tolerating := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	}
	term := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	named := func(name string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
	}
	ab := []*corev1.Node{gpuNode("a", nodeLabel("pool", "x"), nodeLabel("rank", "5")), gpuNode("b", nodeLabel("pool", "y"), tainted("team", corev1.TaintEffectNoSchedule))}
	tests := map[string]struct {
		pods []*corev1.Pod
		want []scaling.FreeNodes
	}{
		"bound":                              {[]*corev1.Pod{gpuPod("p", "a", 3)}, free(5, 1, 8, 1)},
		"bound and terminating":              {[]*corev1.Pod{gpuPod("p", "a", 3, gone)}, free(5, 1, 8, 1)},
		"ended":                              {[]*corev1.Pod{gpuPod("p", "a", 3, inPhase(corev1.PodSucceeded)), gpuPod("q", "a", 3, inPhase(corev1.PodFailed))}, free(8, 2)},
		"on a node that is not there":        {[]*corev1.Pod{gpuPod("p", "c", 3)}, free(8, 2)},
		"all of a node":                      {[]*corev1.Pod{gpuPod("p", "a", 8)}, free(8, 1)},
		"more than a node has":               {[]*corev1.Pod{gpuPod("p", "a", 12)}, free(8, 1)},
		"waiting, and may not run on b":      {[]*corev1.Pod{gpuPod("p", "", 2), gpuPod("q", "", 7)}, free(6, 1, 8, 1)},
		"waiting, for the fullest that fits": {[]*corev1.Pod{gpuPod("p", "b", 4), gpuPod("q", "", 2, tolerating)}, free(2, 1, 8, 1)},
		"waiting, with no room":              {[]*corev1.Pod{gpuPod("p", "", 9, tolerating)}, free(8, 2)},
		"waiting for a label":                {[]*corev1.Pod{gpuPod("p", "", 2, tolerating, onlyOn("pool", "y"))}, free(6, 1, 8, 1)},
		"waiting for a label of no node":     {[]*corev1.Pod{gpuPod("p", "", 2, onlyOn("pool", "z"))}, free(8, 2)},
		"waiting for one of two labels":      {[]*corev1.Pod{gpuPod("p", "", 2, attractedBy(term("pool", corev1.NodeSelectorOpIn, "z"), term("rank", corev1.NodeSelectorOpGt, "4")))}, free(6, 1, 8, 1)},
		"waiting for a label to be absent":   {[]*corev1.Pod{gpuPod("p", "", 2, attractedBy(term("pool", corev1.NodeSelectorOpDoesNotExist)))}, free(8, 2)},
		"waiting for a node by name":         {[]*corev1.Pod{gpuPod("p", "", 2, attractedBy(named("a"))), gpuPod("q", "", 2, attractedBy(named("c")))}, free(6, 1, 8, 1)},
		"waiting for what cannot be read":    {[]*corev1.Pod{gpuPod("p", "", 2, attractedBy(term("rank", corev1.NodeSelectorOpGt, "x")))}, free(8, 2)},
		"waiting for a term without words":   {[]*corev1.Pod{gpuPod("p", "", 2, attractedBy(corev1.NodeSelectorTerm{}))}, free(8, 2)},
		"room is made for it":                {[]*corev1.Pod{gpuPod("p", "", 2, func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" })}, free(6, 1, 8, 1)},
		"waiting at a scheduling gate":       {[]*corev1.Pod{gpuPod("p", "", 2, gated)}, free(8, 2)},
		"ends before it began":               {[]*corev1.Pod{gpuPod("p", "", 2, deleting)}, free(8, 2)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := tallyOf(ab, tt.pods).groups(at(0))
			want := []scaling.NodeGroup{{Accelerator: "A100", Total: 16, Free: tt.want}}
			if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(scaling.NodeGroup{}, "Promised")); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

// TestTheOldestOfTwoThatWaitIsSeated has room for one of two pods, which look for
// different nodes.
func TestTheOldestOfTwoThatWaitIsSeated(t *testing.T) {
	nodes := []*corev1.Node{gpuNode("a"), gpuNode("b", of("nvidia.com/gpu.product", "NVIDIA-L4", nvidia, 6))}
	small, large := gpuPod("a-small", "", 6), gpuPod("b-large", "", 8)
	small.Spec.NodeSelector = map[string]string{"nvidia.com/gpu.product": a100Product}
	for _, tt := range []struct {
		smallAge, largeAge int
		want               []scaling.FreeNodes
		promised           int
	}{{0, 1, free(2, 1), 6}, {1, 0, nil, 8}, {0, 0, free(2, 1), 6}} {
		small.CreationTimestamp, large.CreationTimestamp = metav1.NewTime(at(tt.smallAge)), metav1.NewTime(at(tt.largeAge))
		got, _ := tallyOf(nodes, []*corev1.Pod{large, small}).groups(at(0))
		want := []scaling.NodeGroup{{Accelerator: "A100", Total: 8, Promised: scaling.Accelerators(tt.promised), Free: tt.want}, {Accelerator: "L4", Total: 6, Free: free(6, 1)}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("created at %d and %d, -got +want:\n%s", tt.smallAge, tt.largeAge, diff)
		}
	}
}

// TestPodsWaitTogetherWhereTheyMayRunOnTheSameNodes compares the keys of pods,
// each made anew.
func TestPodsWaitTogetherWhereTheyMayRunOnTheSameNodes(t *testing.T) {
	term := func(values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	for seconds := range int64(2) {
		tolerating := func(key string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			}
		}
		changes := [][]func(*corev1.Pod){
			{},
			{onlyOn("k", "v")},
			{onlyOn("k", "w")},
			{attractedBy()},
			{attractedBy(term("v"))},
			{attractedBy(term("v", "w"))},
			{attractedBy(term("v w"))},
			{attractedBy(term("v"), term("w"))},
			{tolerating("a")},
			{tolerating("b")},
			{onlyOn("k", "v"), tolerating("a")},
		}
		for i, a := range changes {
			for j, b := range changes {
				one, _ := stockPodOf(gpuPod("p", "", 1, a...), vendors)
				other, _ := stockPodOf(gpuPod("q", "", 2, b...), vendors)
				if (one.place == other.place) != (i == j) {
					t.Errorf("%d and %d: %s and %s", i, j, one.place, other.place)
				}
			}
		}
	}
}

// TestTheTallyForgetsNothingAndKeepsNothing lets nodes and pods come, change and
// go at random. However it came to that, the stock is that of what is there, and
// nothing is left of what is not.
func TestTheTallyForgetsNothingAndKeepsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	run := newTally(vendors)
	nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	for range 3000 {
		name := fmt.Sprintf("%02d", r.IntN(20))
		switch r.IntN(6) {
		case 0:
			nodes[name] = gpuNode(name, of("nvidia.com/gpu.product", a100Product, nvidia, int64(r.IntN(9))))
			nodes[name].Spec.Unschedulable = r.IntN(4) == 0
			run.setNode(nodes[name])
		case 1:
			run.dropNode(gpuNode(name))
			delete(nodes, name)
		case 2:
			run.dropPod(gpuPod(name, "", 0))
			delete(pods, name)
		default:
			on := []string{"", fmt.Sprintf("%02d", r.IntN(20))}[r.IntN(2)]
			pods[name] = gpuPod(name, on, int64(r.IntN(5)))
			pods[name].Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodFailed}[r.IntN(3)]
			run.setPod(pods[name])
		}
		anew := newTally(vendors)
		for _, n := range nodes {
			anew.setNode(n)
		}
		for _, p := range pods {
			anew.setPod(p)
		}
		got, _ := run.groups(at(0))
		want, _ := anew.groups(at(0))
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("-got +want:\n%s", diff)
		}
	}
	for name := range pods {
		run.dropPod(gpuPod(name, "", 0))
	}
	if len(run.pods)+len(run.waiting)+len(run.used) > 0 {
		t.Errorf("without pods there are left %v, %v, %v", run.pods, run.waiting, run.used)
	}
}

// TestWhatWaitsIsNeverPromisedTwice checks that no more is free than there is
// besides what runs and what waits and fits.
func TestWhatWaitsIsNeverPromisedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		var nodes []*corev1.Node
		total := 0
		for i := range 1 + r.IntN(4) {
			nodes = append(nodes, gpuNode(fmt.Sprintf("n%d", i)))
			total += 8
		}
		var pods []*corev1.Pod
		waiting := 0
		for i := range r.IntN(6) { // single accelerators always fit as long as any is left
			pods = append(pods, gpuPod(fmt.Sprintf("p%d", i), "", 1))
			waiting++
		}
		groups, _ := tallyOf(nodes, pods).groups(at(0))
		left := 0
		for _, f := range groups[0].Free {
			left += int(f.GPUs.Times(f.Nodes))
		}
		if left != total-waiting || groups[0].Total != scaling.Accelerators(total) {
			t.Fatalf("%d of %d free with %d that wait: %+v", left, total, waiting, groups)
		}
	}
}

// BenchmarkGroups is the cost of a cycle: 1,000 nodes of 16 accelerators, 10,000
// pods with one or two each, of which some wait.
func BenchmarkGroups(b *testing.B) {
	for _, waiting := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("%d wait", waiting), func(b *testing.B) {
			tally := newTally(vendors)
			for i := range 1000 {
				tally.setNode(gpuNode(fmt.Sprintf("node-%04d", i), of("nvidia.com/gpu.product", a100Product, nvidia, 16),
					nodeLabel("karpenter.sh/nodepool", fmt.Sprintf("pool-%d", i%10))))
			}
			for i := range 10_000 {
				on := fmt.Sprintf("node-%04d", i%1000)
				if i >= 10_000-waiting {
					on = ""
				}
				tally.setPod(gpuPod(fmt.Sprintf("pod-%05d", i), on, int64(1+i%2)))
			}
			b.ReportAllocs()
			for b.Loop() {
				tally.groups(at(0))
			}
		})
	}
}

// BenchmarkSetPod is the cost of one event.
func BenchmarkSetPod(b *testing.B) {
	tally := newTally(vendors)
	p := gpuPod("p", "node", 1)
	b.ReportAllocs()
	for b.Loop() {
		tally.setPod(p)
	}
}

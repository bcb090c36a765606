package stock

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ending has a pod terminate, by so many seconds after the beginning.
func ending(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(at(seconds))) }
}

func TestWhatPodsLeaveIsTold(t *testing.T) {
	tests := map[string]struct {
		pods     []*corev1.Pod
		want     []scaling.FreeNodes
		promised scaling.Accelerators
	}{
		"beside what is free":             {[]*corev1.Pod{gpuPod("p", "n", 3, ending(100))}, []scaling.FreeNodes{{GPUs: 5, Leaving: 3, Nodes: 1}}, 0},
		"where nothing is free":           {[]*corev1.Pod{gpuPod("p", "n", 3, ending(100)), gpuPod("q", "n", 5)}, []scaling.FreeNodes{{Leaving: 3, Nodes: 1}}, 0},
		"for a minute after its time":     {[]*corev1.Pod{gpuPod("p", "n", 3, ending(41))}, []scaling.FreeNodes{{GPUs: 5, Leaving: 3, Nodes: 1}}, 0},
		"not of one that never ends":      {[]*corev1.Pod{gpuPod("p", "n", 3, ending(40))}, free(5, 1), 0},
		"not of one on another node":      {[]*corev1.Pod{gpuPod("p", "m", 3, ending(100))}, free(8, 1), 0},
		"not of one that never began":     {[]*corev1.Pod{gpuPod("p", "", 3, ending(100))}, free(8, 1), 0},
		"less while pods hold more":       {[]*corev1.Pod{gpuPod("p", "n", 6, ending(100)), gpuPod("q", "n", 5)}, []scaling.FreeNodes{{Leaving: 3, Nodes: 1}}, 0},
		"nothing while others hold all":   {[]*corev1.Pod{gpuPod("p", "n", 6, ending(100)), gpuPod("q", "n", 9)}, nil, 0},
		"promised to one that waits":      {[]*corev1.Pod{gpuPod("p", "n", 6, ending(100)), gpuPod("w", "", 4)}, []scaling.FreeNodes{{Leaving: 4, Nodes: 1}}, 4},
		"after what is free":              {[]*corev1.Pod{gpuPod("p", "n", 6, ending(100)), gpuPod("w", "", 2)}, []scaling.FreeNodes{{Leaving: 6, Nodes: 1}}, 2},
		"not promised where it is little": {[]*corev1.Pod{gpuPod("p", "n", 6, ending(100)), gpuPod("q", "n", 2), gpuPod("w", "", 7)}, []scaling.FreeNodes{{Leaving: 6, Nodes: 1}}, 0},
		"to the oldest that waits first":  {[]*corev1.Pod{gpuPod("p", "n", 8, ending(100)), gpuPod("v", "", 5), gpuPod("w", "", 5)}, []scaling.FreeNodes{{Leaving: 3, Nodes: 1}}, 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := tallyOf([]*corev1.Node{gpuNode("n")}, tt.pods).groups(at(100))
			want := []scaling.NodeGroup{{Accelerator: "A100", Total: 8, Promised: tt.promised, Free: tt.want}}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestNodesThatTakeNoPodsLeaveNothing(t *testing.T) {
	n := gpuNode("n")
	n.Spec.Unschedulable = true
	if got, _ := tallyOf([]*corev1.Node{n}, []*corev1.Pod{gpuPod("p", "n", 3, ending(100))}).groups(at(100)); got != nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

// TestTheStockAddsUp draws pods that run, end and wait: what runs, ends, is free
// and is promised is all that there is, and what was left is free once the pods have
// ended.
func TestTheStockAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for round := range 500 {
		var nodes []*corev1.Node
		for i := range 1 + r.IntN(4) {
			nodes = append(nodes, gpuNode(fmt.Sprintf("n%d", i)))
		}
		var pods, stay []*corev1.Pod
		room, runs := map[string]int64{}, scaling.Accelerators(0)
		for i := range r.IntN(12) {
			on, n := fmt.Sprintf("n%d", r.IntN(len(nodes))), 1+r.Int64N(4)
			switch room[on] += n; {
			case room[on] > 8:
				room[on] -= n
				pods = append(pods, gpuPod(fmt.Sprintf("w%d", i), "", n))
			case r.IntN(2) == 0:
				pods = append(pods, gpuPod(fmt.Sprintf("e%d", i), on, n, ending(r.IntN(100))))
			default:
				pods = append(pods, gpuPod(fmt.Sprintf("p%d", i), on, n))
				stay, runs = append(stay, pods[len(pods)-1]), runs+scaling.Accelerators(n)
			}
		}
		groups, _ := tallyOf(nodes, pods).groups(at(30))
		after, _ := tallyOf(nodes, stay).groups(at(30))
		g, left, most := groups[0], scaling.Accelerators(0), scaling.Accelerators(0)
		for _, f := range g.Free {
			if f.GPUs+f.Leaving <= 0 || f.Nodes <= 0 || f.GPUs < 0 || f.Leaving < 0 {
				t.Fatalf("round %d: %+v", round, f)
			}
			left += (f.GPUs + f.Leaving).Times(f.Nodes)
		}
		for _, f := range after[0].Free {
			most += f.GPUs.Times(f.Nodes)
		}
		if left+g.Promised+runs != g.Total || left+g.Promised != most {
			t.Fatalf("round %d: %d are free or will be, %d promised, %d run of %d; without those that end %d are free", round, left, g.Promised, runs, g.Total, most)
		}
	}
}

// TestTheStockForgetsThoseThatEnded: their entries go with them.
func TestTheStockForgetsThoseThatEnded(t *testing.T) {
	run := tallyOf([]*corev1.Node{gpuNode("n")}, []*corev1.Pod{gpuPod("p", "n", 3, ending(100)), gpuPod("q", "n", 1)})
	run.dropPod(gpuPod("p", "n", 3))
	got, _ := run.groups(at(0).Add(time.Second))
	if diff := cmp.Diff(got[0].Free, free(7, 1)); diff != "" || len(run.ending) != 0 {
		t.Errorf("%d end, -got +want:\n%s", len(run.ending), diff)
	}
}

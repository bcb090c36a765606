package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestTheStockFollowsTheCluster counts the accelerators of a real API server as
// the manager's account, which may not read nodes at first.
func TestTheStockFollowsTheCluster(t *testing.T) {
	s := newStage(t)
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleetNamespace}})
	for _, name := range []string{"node-a", "node-b"} {
		s.gpuNode(t, name)
	}
	learnt := make(chan struct{}, 1)
	stock, err := newStock(s.kube, stockOptions{
		inventory: config.Inventory{NodeSelector: "nvidia.com/gpu.product=" + gpuProduct}, // the cluster has other nodes too
		interval:  func() time.Duration { return time.Minute },
		learnt:    func() { learnt <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	level, err := logging.NewLevel("info")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logging.New(s.log, level)))
	done := make(chan error, 1)
	go func() { done <- stock.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the stock ended with %v", err)
		}
	})

	s.eventually(t, "without the permission the stock is not known, and the log says why", func() bool {
		return !stock.Inventory(ctx).Known && len(s.log.with("watching nodes")) > 0 && len(s.log.with("forbidden")) > 0
	})
	s.allowNodes(t)
	shows := func(what string, free ...scaling.FreeNodes) {
		t.Helper()
		var last scaling.Inventory
		s.eventuallyOr(t, func() string { return fmt.Sprintf("%s, got %+v", what, last) }, func() bool {
			last = stock.Inventory(ctx)
			return last.Known && len(last.Groups) == 1 && last.Groups[0].Accelerator == "X9" && cmp.Equal(last.Groups[0].Free, free)
		})
	}
	shows("two nodes of 8", scaling.FreeNodes{GPUs: 8, Nodes: 2})
	select {
	case <-learnt:
	default:
		t.Error("no event tells that the stock became known")
	}

	s.eventually(t, "the namespace takes pods", func() bool { // its service account comes with delay
		return s.client.Create(t.Context(), gpuPod("bound", "node-a", 3)) == nil
	})
	shows("one that is bound", scaling.FreeNodes{GPUs: 5, Nodes: 1}, scaling.FreeNodes{GPUs: 8, Nodes: 1})
	s.create(t, gpuPod("waiting", "", 8))
	shows("one that waits", scaling.FreeNodes{GPUs: 5, Nodes: 1})
	s.end(t, "bound")
	s.delete(t, gpuPod("waiting", "", 8))
	shows("both have gone", scaling.FreeNodes{GPUs: 8, Nodes: 2})
	s.change(t, "node-b", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	shows("one node is cordoned", scaling.FreeNodes{GPUs: 8, Nodes: 1})
	s.delete(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-b"}})
	shows("it is gone", scaling.FreeNodes{GPUs: 8, Nodes: 1})
	if lines := s.log.with("is not known"); len(lines) > 3 { // not listed, nodes forbidden, and perhaps pods not listed
		t.Errorf("the log repeats itself: %s", strings.Join(lines, ""))
	}
}

// gpuProduct is of none of the nodes that the local cluster has by itself.
const gpuProduct = "NVIDIA-X9-80GB"

// gpuNode creates a node with 8 accelerators, which becomes Ready by itself.
func (s *stage) gpuNode(t *testing.T, name string) {
	t.Helper()
	has := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("110")}
	s.create(t, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, Labels: map[string]string{"nvidia.com/gpu.product": gpuProduct},
		},
		Status: corev1.NodeStatus{Capacity: has, Allocatable: has},
	})
}

// change changes a node, whatever version of it there is.
func (s *stage) change(t *testing.T, name string, by func(*corev1.Node)) {
	t.Helper()
	var n corev1.Node
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		t.Fatal(err)
	}
	before := n.DeepCopy()
	by(&n)
	if err := s.client.Patch(t.Context(), &n, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// end lets a pod succeed, once what stands for a kubelet has had its say: it would
// set the pod to running afterwards.
func (s *stage) end(t *testing.T, name string) {
	t.Helper()
	var p corev1.Pod
	s.eventually(t, name+" runs", func() bool {
		err := s.client.Get(t.Context(), client.ObjectKey{Namespace: fleetNamespace, Name: name}, &p)
		return err == nil && p.Status.Phase == corev1.PodRunning
	})
	before := p.DeepCopy()
	p.Status.Phase = corev1.PodSucceeded
	if err := s.client.Status().Patch(t.Context(), &p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) delete(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.client.Delete(t.Context(), o, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

// gpuPod returns a pod that takes accelerators of a node, "" for one that waits
// for a scheduler that there is not.
func gpuPod(name, node string, gpus int64) *corev1.Pod {
	take := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: node, SchedulerName: "none", NodeSelector: map[string]string{"nvidia.com/gpu.product": gpuProduct},
		Containers: []corev1.Container{{Name: "engine", Image: "engine", Resources: corev1.ResourceRequirements{Limits: take}}},
	}}
}

// allowNodes gives the account what the role for limited mode allows.
func (s *stage) allowNodes(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "node-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}
	s.create(t, role)
	s.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "node-reader"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	})
}

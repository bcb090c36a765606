package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestAnEvictedPodIsNoReplica: the node is short of memory and evicts a pod. Its object
// stays, Failed; the pod that comes in its place is the replica.
func TestAnEvictedPodIsNoReplica(t *testing.T) {
	t.Parallel()
	b := begin(t, "evicted", "a")
	b.order("a", 3)
	b.has(30*time.Second, "a", 3)
	counted := func(pods int) {
		t.Helper()
		eventually(t, 30*time.Second, func(ctx context.Context) string {
			var list corev1.PodList
			if err := b.bed.Client.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
				return err.Error()
			}
			if len(list.Items) != pods {
				return fmt.Sprintf("there are %d pods, want %d", len(list.Items), pods)
			}
			known, err := b.manager.Explain(ctx)
			if err != nil {
				return err.Error()
			}
			if got := countOf(known, "a"); got != 3 {
				return fmt.Sprintf("the manager counts %d replicas, want 3", got)
			}
			return ""
		})
	}
	counted(3)
	var list corev1.PodList
	if err := b.bed.Client.List(t.Context(), &list, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	pod := &list.Items[0]
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	if err := b.bed.Client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	counted(4) // with the object of the one that was evicted
	b.order("a", 4)
	b.has(30*time.Second, "a", 4)
	b.lives()
}

// countOf returns how many replicas the manager knows of a variant, -1 where it knows
// none.
func countOf(known []explain.Explanation, name string) scaling.Replicas {
	for _, e := range known {
		if e.Variant.Key.Name == name {
			return e.Variant.Replicas.Current
		}
	}
	return -1
}

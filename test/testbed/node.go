package testbed

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gpuTaint is on every node with GPUs, as in the local cluster. Admission adds the toleration to
// pods that ask for GPUs.
const gpuTaint = "nvidia.com/gpu"

// AddNode adds a node with GPUs of a product to those of the local cluster, and waits until it
// takes pods, one for each GPU at the most. With a product that no other node has, only this node
// takes pods that ask for the product. The Bed removes the node when it goes down.
func (b *Bed) AddNode(ctx context.Context, name, product string, gpus int64) error {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods: *resource.NewQuantity(gpus, resource.DecimalSI), "nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{corev1.LabelHostname: name, "nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": product},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: gpuTaint, Value: "present", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
	// A node that an interrupted run left will do.
	if err := b.Client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("adding node %s: %w", name, err)
	}
	b.Cleanup(func(ctx context.Context) error { return client.IgnoreNotFound(b.Client.Delete(ctx, node)) })
	err := poll(ctx, func() (bool, error) {
		if err := b.Client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return false, err
		}
		notYet := func(t corev1.Taint) bool { return t.Key != gpuTaint }
		return !slices.ContainsFunc(node.Spec.Taints, notYet) && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s to take pods (taints %v, conditions %v): %w", name, node.Spec.Taints, node.Status.Conditions, err)
	}
	return nil
}

package discovery

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ReadyPods returns the replicas that a target is asked to have, and the pods that an HPA counts as
// ready, both by the cache now. An HPA that multiplies a value multiplies it by those pods,
// terminating ones included (k8s.io/kubernetes, podautoscaler, getReadyPodsCount). ok is false
// where they are unknown: for a missing target, and for kinds other than Deployment, StatefulSet
// and LeaderWorkerSet.
func (c *Cluster) ReadyPods(ctx context.Context, namespace string, target scaling.TargetRef) (replicas, ready scaling.Replicas, ok bool) {
	replicas, selector := c.selected(ctx, client.ObjectKey{Namespace: namespace, Name: target.Name}, target)
	if selector == nil || selector.Empty() {
		return 0, 0, false
	}
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, 0, false
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && isReady(p) {
			ready++
		}
	}
	return replicas, ready, true
}

// selected returns the replicas that a target is asked to have, and the selector of its pods, nil
// where that is unknown.
func (c *Cluster) selected(ctx context.Context, key client.ObjectKey, target scaling.TargetRef) (scaling.Replicas, labels.Selector) {
	selects := func(s *metav1.LabelSelector) labels.Selector {
		out, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			return nil
		}
		return out
	}
	switch {
	case isGroupSet(target):
		set := c.groups.of(ctx, c.By, key.Namespace)[key.Name]
		if set == nil {
			return 0, nil
		}
		return scaling.Replicas(ptr.Deref(set.Spec.Replicas, 1)), labels.SelectorFromSet(labels.Set{labelGroupsOf: key.Name, labelWorkerIndex: "0"})
	case !hasInformer(target):
		return 0, nil
	case target.Kind == kindDeployment:
		var d appsv1.Deployment
		if c.reader.Get(ctx, key, &d) != nil {
			return 0, nil
		}
		return scaling.Replicas(ptr.Deref(d.Spec.Replicas, 1)), selects(d.Spec.Selector)
	default:
		var s appsv1.StatefulSet
		if c.reader.Get(ctx, key, &s) != nil {
			return 0, nil
		}
		return scaling.Replicas(ptr.Deref(s.Spec.Replicas, 1)), selects(s.Spec.Selector)
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

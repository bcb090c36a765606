package discovery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pod holds the fields that are read of a live pod.
type pod struct {
	namespace, name string
	uid             types.UID
	labels          map[string]string
	owner           types.UID // of the controller that created it
	ready           bool
	unschedulable   bool
	created         time.Time
	readyAt         time.Time            // when it last became Ready, zero while it is not Ready
	scheduled       time.Time            // when it was bound to a node, zero before
	started         time.Time            // when its kubelet accepted it, zero before
	neverReady      bool                 // it has not been Ready yet
	restarted       bool                 // a container of it was restarted
	unpulled        string               // the image that a container of it waits for, "" for none
	metricsURL      string               // URL of its metrics, "" where the cache does not keep it
	gpus            scaling.Accelerators // accelerators that it takes
}

// ending reports whether a pod terminates and has not ended.
func ending(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// living returns the fields that are read of p, and false if p terminates or has ended.
func living(p *corev1.Pod) (pod, bool) {
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return pod{}, false
	}
	out := pod{
		namespace: p.Namespace, name: p.Name, uid: p.UID, labels: p.Labels, created: p.CreationTimestamp.Time, metricsURL: p.Annotations[annotationPage],
		neverReady: neverReady(p), restarted: restarted(p), unpulled: unpulled(p), gpus: gpusHeld(p),
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		out.owner = owner.UID
	}
	if p.Status.StartTime != nil {
		out.started = p.Status.StartTime.Time
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			out.ready, out.readyAt = true, c.LastTransitionTime.Time
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			out.scheduled = c.LastTransitionTime.Time
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable:
			out.unschedulable = true
		}
	}
	return out, true
}

// count returns the replica counts of a target with these pods, whose scale asks for current
// replicas.
func count(current scaling.Replicas, pods []pod) scaling.ReplicaCounts {
	r := scaling.ReplicaCounts{Observed: true, Current: current}
	ready, unschedulable := scaling.Replicas(0), scaling.Replicas(0)
	for _, p := range pods {
		if p.unschedulable {
			unschedulable++
		}
		if !p.ready {
			continue
		}
		ready++
		if p.readyAt.After(r.NewestReady) {
			r.NewestReady = p.readyAt
		}
	}
	r.Ready = min(ready, current)
	r.Pending = current - r.Ready
	r.Unschedulable = min(unschedulable, r.Pending)
	r.Podless = min(max(0, current-scaling.Replicas(len(pods))), r.Pending)
	r.Surplus = max(0, scaling.Replicas(len(pods))-unschedulable-current)
	return r
}

// claims assigns each pod to one variant.
type claims map[types.NamespacedName]assignment

type assignment struct {
	pod   scaling.Pod
	owned bool
}

// add assigns the pods of a target to key. A pod that is assigned already moves only from a target
// that selects it to one that owns it.
func (c claims) add(key scaling.VariantKey, t target) {
	for _, p := range t.pods {
		name := types.NamespacedName{Namespace: p.namespace, Name: p.name}
		if held, taken := c[name]; taken && (held.owned || !t.owned) {
			continue
		}
		c[name] = assignment{scaling.Pod{
			Namespace: p.namespace, Name: p.name, Variant: key, Ready: p.ready, MetricsURL: p.metricsURL,
			Created: p.created, Scheduled: p.scheduled, Started: p.started, ReadyAt: p.readyAt,
		}, t.owned}
	}
}

// pods returns the assigned pods, sorted by namespace and name.
func (c claims) pods() []scaling.Pod {
	out := make([]scaling.Pod, 0, len(c))
	for _, a := range c {
		out = append(out, a.pod)
	}
	slices.SortFunc(out, func(a, b scaling.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// The labels of lws by which groups are told.
const (
	groupsLabel = "leaderworkerset.sigs.k8s.io/name"
	workerLabel = "leaderworkerset.sigs.k8s.io/worker-index"
)

// groupSize is how many pods a group has, of two accelerators each.
const groupSize = 4

// TestGroupsOfPodsGrowAndShrinkAsReplicas has a LeaderWorkerSet whose groups are four pods grow and
// shrink under load by whole groups. A group without one of its pods is not Ready, and while groups of
// another size replace those of before, the variant stays at what runs.
func TestGroupsOfPodsGrowAndShrinkAsReplicas(t *testing.T) {
	const ns, name = "groups", "deep"
	v := chat(ns, name)
	v.GPU, v.Accelerator, v.Max = poolProduct, poolAccelerator, new(int32(3))
	control := startGroups(t, v)
	is := func(within time.Duration, what string, holds func(explain.Explanation) bool) {
		t.Helper()
		explainedGroups(t, ns, name, within, what, holds)
	}
	ready := func(n scaling.Replicas) func(explain.Explanation) bool {
		return func(e explain.Explanation) bool {
			return e.Variant.Replicas.Current == n && e.Variant.Replicas.Ready == n && e.Variant.GPUsPerReplica == 2*groupSize && e.Variant.Cost == 12
		}
	}
	is(2*time.Minute, "one group of 8 accelerators is Ready", ready(1))
	if got, says := explanationOf(t, ns, name), fmt.Sprintf("on %s, %d GPU a replica, cost 12", poolAccelerator, 2*groupSize); !strings.Contains(got, says) {
		t.Errorf("wva explain does not say %q:\n%s", says, got)
	}

	// A pod of the group ends: what is left of it serves nothing.
	worker := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name + "-0-2"}}
	if err := shared.bed.Client.Delete(t.Context(), worker, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	is(time.Minute, "the group without one of its pods is not Ready", func(e explain.Explanation) bool {
		return e.Variant.Replicas.Current == 1 && e.Variant.Replicas.Ready == 0
	})
	is(time.Minute, "the group is Ready again", ready(1))

	load(t, ns, v.ModelID, "constant(12,75s),constant(0.3,900s)")
	is(4*time.Minute, "three groups are Ready", ready(3))
	is(6*time.Minute, "one group is left", ready(1))
	var pods corev1.PodList
	eventually(t, time.Minute, func(ctx context.Context) string {
		if err := shared.bed.Client.List(ctx, &pods, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		if len(pods.Items) != groupSize {
			return fmt.Sprintf("%d pods are left, want the %d of one group", len(pods.Items), groupSize)
		}
		return ""
	})

	control.resize(t, 2)
	is(time.Minute, "groups of another size are held", func(e explain.Explanation) bool {
		return strings.Contains(e.Variant.Undecidable, "the group of pod deep-0 has 4 pods and the template of LeaderWorkerSet deep says 2")
	})
	control.replaceGroups(t)
	is(2*time.Minute, "the groups of the new size are decided on", func(e explain.Explanation) bool {
		return e.Variant.Undecidable == "" && e.Variant.GPUsPerReplica == 4 && e.Variant.Replicas.Ready == 1
	})
}

// TestGroupsTakeWhatTheNodesHave has a LeaderWorkerSet in limited mode on two nodes with 13 accelerators,
// on which six pods of two fit: one group of four. Another node makes room for a second.
func TestGroupsTakeWhatTheNodesHave(t *testing.T) {
	const ns, name, product, accelerator = "few-nodes", "wide", "Tesla-P40", "P40"
	for node, gpus := range map[string]int64{"few-a": 6, "few-b": 7} {
		if err := shared.bed.AddNode(t.Context(), node, product, gpus); err != nil {
			t.Fatal(err)
		}
	}
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "enableLimiter: true"})
	v := chat(ns, name)
	v.GPU, v.Accelerator, v.Max = product, accelerator, new(int32(3))
	startGroups(t, v)
	groups := func(n scaling.Replicas) func(explain.Explanation) bool {
		return func(e explain.Explanation) bool {
			return e.Variant.Replicas.Current == n && e.Variant.Replicas.Ready == n
		}
	}
	explainedGroups(t, ns, name, 2*time.Minute, "one group is Ready", groups(1))

	load(t, ns, v.ModelID, "constant(12,900s)")
	short := func(e explain.Explanation) bool {
		step, bound := explain.Bound(e.Decision)
		return bound && step.Reason == scaling.ReasonNoStock && strings.Contains(step.Detail, "2 "+accelerator+" on one node for each of 4 pods")
	}
	explainedGroups(t, ns, name, 3*time.Minute, "there is no room for a second group", func(e explain.Explanation) bool { return short(e) && groups(1)(e) })
	consistently(t, 5*interval, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		switch {
		case err != nil:
			return err.Error()
		case !groups(1)(e):
			return fmt.Sprintf("got %+v, want one group", e.Variant.Replicas)
		}
		return ""
	})
	if got := explanationOf(t, ns, name); !strings.Contains(got, "for each of 4 pods") {
		t.Errorf("wva explain does not say what a group needs:\n%s", got)
	}

	if err := shared.bed.AddNode(t.Context(), "few-c", product, 4); err != nil {
		t.Fatal(err)
	}
	explainedGroups(t, ns, name, 3*time.Minute, "a second group has room", func(e explain.Explanation) bool { return short(e) && groups(2)(e) })
}

// startGroups makes a variant whose target is a LeaderWorkerSet of one group, until the test ends.
func startGroups(t *testing.T, v testbed.Variant) *groupControl {
	t.Helper()
	defineGroups(t)
	if err := shared.bed.Namespace(t.Context(), v.Namespace); err != nil {
		t.Fatal(err)
	}
	for _, o := range v.Objects() {
		switch of := o.(type) {
		case *appsv1.Deployment:
			o = groupSet(t, v.Namespace, v.Name, &of.Spec.Template)
		case *v1alpha1.VariantAutoscaling:
			of.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: lwsGroup + "/v1", Kind: "LeaderWorkerSet", Name: v.Name}
		case *autoscalingv2.HorizontalPodAutoscaler:
			of.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: lwsGroup + "/v1", Kind: "LeaderWorkerSet", Name: v.Name}
		}
		apply(t, o)
	}
	control := &groupControl{namespace: v.Namespace, name: v.Name}
	control.start(t)
	return control
}

// explainedGroups waits until what the manager explains of a variant of groups holds.
func explainedGroups(t *testing.T, ns, name string, within time.Duration, what string, holds func(explain.Explanation) bool) {
	t.Helper()
	eventually(t, within, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		if !holds(e) {
			step, _ := explain.Bound(e.Decision)
			return fmt.Sprintf("%s: got %+v, %d accelerators of %s each, held by %q, bound by %+v",
				what, e.Variant.Replicas, e.Variant.GPUsPerReplica, e.Variant.Accelerator, e.Variant.Undecidable, step)
		}
		return ""
	})
}

// groupSet is a LeaderWorkerSet of one group, whose leaders are pods of a template, and whose workers
// are not emulated: they serve by their leader.
func groupSet(t *testing.T, namespace, name string, leader *corev1.PodTemplateSpec) *unstructured.Unstructured {
	t.Helper()
	template := func(worker bool) map[string]any {
		p := leader.DeepCopy()
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
		if worker {
			p.Annotations = map[string]string{"wva.llmd.ai/startup-delay": "6s"}
		}
		out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": lwsGroup + "/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"replicas": int64(1), "leaderWorkerTemplate": map[string]any{
			"size": int64(groupSize), "leaderTemplate": template(false), "workerTemplate": template(true),
		}},
	}}
}

// groupControl does for one LeaderWorkerSet what its controller does: a StatefulSet of leaders, and
// one of workers for each leader. A group whose size changes is replaced when the test says so.
type groupControl struct{ namespace, name string }

// start makes groups until the test ends.
func (g *groupControl) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(300 * time.Millisecond); ; {
			if err := g.reconcile(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				t.Errorf("making groups: %v", err)
				return
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(shared.bed.Client.Delete(end, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}})); err != nil {
			t.Errorf("removing namespace %s: %v", g.namespace, err)
		}
	})
}

// read returns the LeaderWorkerSet and its two templates.
func (g *groupControl) read(ctx context.Context) (set *unstructured.Unstructured, leader, worker corev1.PodTemplateSpec, err error) {
	set = &unstructured.Unstructured{}
	set.SetAPIVersion(lwsGroup + "/v1")
	set.SetKind("LeaderWorkerSet")
	if err := shared.bed.Client.Get(ctx, client.ObjectKey{Namespace: g.namespace, Name: g.name}, set); err != nil {
		return set, leader, worker, err
	}
	for path, into := range map[string]*corev1.PodTemplateSpec{"leaderTemplate": &leader, "workerTemplate": &worker} {
		of, _, _ := unstructured.NestedMap(set.Object, "spec", "leaderWorkerTemplate", path)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of, into); err != nil {
			return set, leader, worker, err
		}
	}
	return set, leader, worker, nil
}

func (g *groupControl) reconcile(ctx context.Context) error {
	set, leader, worker, err := g.read(ctx)
	if err != nil {
		return err
	}
	replicas, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	size, _, _ := unstructured.NestedInt64(set.Object, "spec", "leaderWorkerTemplate", "size")
	owner := metav1.OwnerReference{APIVersion: set.GetAPIVersion(), Kind: set.GetKind(), Name: g.name, UID: set.GetUID()}
	if err := g.stateful(ctx, g.name, int32(replicas), 0, leader, owner); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := shared.bed.Client.List(ctx, &pods, client.InNamespace(g.namespace), client.MatchingLabels{groupsLabel: g.name, workerLabel: "0"}); err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		var workers appsv1.StatefulSet
		err := shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(p), &workers)
		if err == nil {
			continue // its size is that of the group, until that is replaced
		}
		if err := g.stateful(ctx, p.Name, int32(size-1), 1, worker, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}); err != nil {
			return err
		}
	}
	selector := fmt.Sprintf("%s=%s,%s=0", groupsLabel, g.name, workerLabel)
	if told, _, _ := unstructured.NestedInt64(set.Object, "status", "replicas"); told == replicas {
		return nil
	}
	set.Object["status"] = map[string]any{"hpaPodSelector": selector, "replicas": replicas}
	return shared.bed.Client.Update(ctx, set) // its definition has no subresource of the status
}

// stateful creates a StatefulSet, whose pods are numbered from first, or sets its replicas.
func (g *groupControl) stateful(ctx context.Context, name string, replicas, first int32, template corev1.PodTemplateSpec, owner metav1.OwnerReference) error {
	index := "0"
	if first > 0 {
		index = "worker"
	}
	labels := map[string]string{groupsLabel: g.name, workerLabel: index, "group": name}
	template.Labels = maps.Clone(labels)
	owner.Controller = new(true)
	want := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template, ServiceName: g.name,
			PodManagementPolicy: appsv1.ParallelPodManagement, Ordinals: &appsv1.StatefulSetOrdinals{Start: first},
		},
	}
	var have appsv1.StatefulSet
	err := shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(want), &have)
	switch {
	case apierrors.IsNotFound(err):
		return shared.bed.Client.Create(ctx, want)
	case err != nil || *have.Spec.Replicas == replicas:
		return err
	}
	have.Spec.Replicas = &replicas
	return shared.bed.Client.Update(ctx, &have)
}

// resize changes the size that the template says.
func (g *groupControl) resize(t *testing.T, size int64) {
	t.Helper()
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(lwsGroup + "/v1")
	set.SetKind("LeaderWorkerSet")
	set.SetNamespace(g.namespace)
	set.SetName(g.name)
	patch := fmt.Appendf(nil, `{"spec":{"leaderWorkerTemplate":{"size":%d}}}`, size)
	if err := shared.bed.Client.Patch(t.Context(), set, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// replaceGroups ends the leaders, and so the groups, which come back in the size of the template.
func (g *groupControl) replaceGroups(t *testing.T) {
	t.Helper()
	if err := shared.bed.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(g.namespace),
		client.MatchingLabels{groupsLabel: g.name, workerLabel: "0"}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

package emulator

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func annotations() map[string]string {
	return map[string]string{ProfileAnnotation: "fast", ModelAnnotation: testModel.ID}
}

func clusterPod(name string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "1", Annotations: annotations()},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}

func TestPodOf(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		name               string
		edit               func(*corev1.Pod)
		emulated           bool
		ready, terminating bool
	}{
		{"ready", func(*corev1.Pod) {}, true, true, false},
		{"not ready", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true, false, false},
		{"pending", func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, true, false, false},
		{"terminating", func(p *corev1.Pod) { p.DeletionTimestamp = &now }, true, false, true},
		{"failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true, false, true},
		{"no profile", func(p *corev1.Pod) { delete(p.Annotations, ProfileAnnotation) }, false, false, false},
		{"no model", func(p *corev1.Pod) { delete(p.Annotations, ModelAnnotation) }, false, false, false},
		{"profile as a label", func(p *corev1.Pod) {
			delete(p.Annotations, ProfileAnnotation)
			p.Labels = map[string]string{ProfileAnnotation: "fast"}
		}, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := clusterPod("a", corev1.ConditionTrue)
			c.edit(p)
			got, ok := podOf(p)
			if ok != c.emulated || got.Ready != c.ready || got.Terminating != c.terminating {
				t.Errorf("got %+v %v, want emulated %v, ready %v, terminating %v", got, ok, c.emulated, c.ready, c.terminating)
			}
		})
	}
}

func TestClusterFollowsPodsAndDeployments(t *testing.T) {
	idle := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "idle"}}
	idle.Spec.Template.Annotations = map[string]string{ProfileAnnotation: "fast", ModelAnnotation: "at/zero"}
	client := fake.NewClientset(clusterPod("a", corev1.ConditionTrue), idle)
	e, err := New(Options{Profiles: testProfiles(fastProfile())})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- NewCluster(client, "").Run(ctx, e) }()
	ready := func(id string) int {
		return locked(e, func(f *fleet) int {
			if p := f.pools[ModelKey{Namespace: "demo", ID: id}]; p != nil {
				return len(p.replicas)
			}
			return -1
		})
	}
	until(t, "the pod that was there is a replica", func() bool { return ready(testModel.ID) == 1 })
	until(t, "the model at zero is known", func() bool { return ready("at/zero") == 0 })
	pods := client.CoreV1().Pods("demo")
	if _, err := pods.Create(ctx, clusterPod("b", corev1.ConditionFalse), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the new pod is known", func() bool {
		return locked(e, func(f *fleet) bool { return f.pods[podKey{"demo", "b"}] != nil })
	})
	if got := ready(testModel.ID); got != 1 {
		t.Errorf("got %d ready replicas, want 1", got)
	}
	if _, err := pods.UpdateStatus(ctx, clusterPod("b", corev1.ConditionTrue), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the new pod is a replica", func() bool { return ready(testModel.ID) == 2 })
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the deleted pod is no replica", func() bool { return ready(testModel.ID) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

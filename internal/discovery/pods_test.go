package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// at returns an instant, some seconds after the beginning.
func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}

// livePod returns a pod of namespace ns, created at 0.
func livePod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(at(0))}}
	for _, f := range change {
		f(p)
	}
	return p
}

func readySince(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(seconds))})
	}
}

// startedAt is when a node took a pod, and when its kubelet did.
func startedAt(scheduled, started int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(scheduled))})
		p.Status.StartTime = &metav1.Time{Time: at(started)}
	}
}

func deletedAt(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: at(seconds)} }
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func TestLiving(t *testing.T) {
	with := func(c corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions = append(p.Status.Conditions, c) }
	}
	terminating := deletedAt(9)
	tests := map[string]struct {
		pod  *corev1.Pod
		want pod
		ok   bool
	}{
		"ready":         {livePod("p", inPhase(corev1.PodRunning), readySince(60)), pod{ready: true, readyAt: at(60)}, true},
		"not ready":     {livePod("p", with(corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at(60))})), pod{}, true},
		"not Ready yet": {livePod("p"), pod{neverReady: true}, true},
		"unschedulable": {
			livePod("p", with(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})),
			pod{unschedulable: true, neverReady: true},
			true,
		},
		"held back by a scheduling gate": {
			livePod("p", with(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated})),
			pod{neverReady: true},
			true,
		},
		"terminating": {livePod("p", readySince(60), terminating), pod{}, false},
		"succeeded":   {livePod("p", inPhase(corev1.PodSucceeded)), pod{}, false},
		"failed":      {livePod("p", inPhase(corev1.PodFailed)), pod{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := living(tt.pod)
			if tt.ok {
				tt.want.namespace, tt.want.name, tt.want.created = "ns", "p", at(0)
			}
			if diff := cmp.Diff(got, tt.want, cmp.AllowUnexported(pod{})); diff != "" || ok != tt.ok {
				t.Errorf("got %v, want %v; -got +want:\n%s", ok, tt.ok, diff)
			}
		})
	}
}

func TestCountKeepsCurrentEqualToReadyPlusPending(t *testing.T) {
	ready := func(after int) pod { return pod{created: at(0), ready: true, readyAt: at(after)} }
	waiting, homeless := pod{created: at(0)}, pod{created: at(0), unschedulable: true}
	tests := map[string]struct {
		current scaling.Replicas
		pods    []pod
		want    scaling.ReplicaCounts
	}{
		"nothing runs":          {0, nil, scaling.ReplicaCounts{}},
		"pods not yet created":  {2, nil, scaling.ReplicaCounts{Current: 2, Pending: 2, Podless: 2}},
		"all ready":             {2, []pod{ready(60), ready(80)}, scaling.ReplicaCounts{Current: 2, Ready: 2, NewestReady: at(80)}},
		"some ready":            {3, []pod{ready(60), waiting}, scaling.ReplicaCounts{Current: 3, Ready: 1, Pending: 2, Podless: 1, NewestReady: at(60)}},
		"no node takes one":     {2, []pod{ready(60), homeless}, scaling.ReplicaCounts{Current: 2, Ready: 1, Pending: 1, Unschedulable: 1, NewestReady: at(60)}},
		"surge, all ready":      {1, []pod{ready(60), ready(90)}, scaling.ReplicaCounts{Current: 1, Ready: 1, Surplus: 1, NewestReady: at(90)}},
		"surge without a node":  {1, []pod{ready(60), homeless}, scaling.ReplicaCounts{Current: 1, Ready: 1, NewestReady: at(60)}},
		"scaled down, not gone": {0, []pod{ready(60)}, scaling.ReplicaCounts{Surplus: 1, NewestReady: at(60)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := count(tt.current, tt.pods)
			tt.want.Observed = true
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if got.Current != got.Ready+got.Pending || got.Unschedulable+got.Podless > got.Pending {
				t.Errorf("%+v does not add up", got)
			}
		})
	}
}

func TestOwnerBeforeSelectorInClaims(t *testing.T) {
	shared := pod{namespace: "ns", name: "p"}
	selected, owned := target{pods: []pod{shared}}, target{pods: []pod{shared}, owned: true}
	a, b := scaling.VariantKey{Namespace: "ns", Name: "a"}, scaling.VariantKey{Namespace: "ns", Name: "b"}
	tests := map[string]struct {
		first, second target
		want          scaling.VariantKey
	}{
		"selected by both":     {selected, selected, a},
		"owned by the second":  {selected, owned, b},
		"owned by the first":   {owned, selected, a},
		"owned by both: never": {owned, owned, a},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := claims{}
			c.add(a, tt.first)
			c.add(b, tt.second)
			want := []scaling.Pod{{Namespace: "ns", Name: "p", Variant: tt.want}}
			if diff := cmp.Diff(c.pods(), want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

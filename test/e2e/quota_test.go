//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodsThatAQuotaForbidsAreNamed: the HPA does its part, the Deployment asks
// for what was decided, and the API server refuses the pods. No pod says so, for
// there is none.
func TestPodsThatAQuotaForbidsAreNamed(t *testing.T) {
	t.Parallel()
	const ns = "quota"
	v := aside(ns, "starved")
	v.Min = 3
	if err := shared.bed.Namespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one-pod"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	apply(t, quota)
	deploy(t, v)
	apply(t, follower(v, func(*autoscalingv2.HorizontalPodAutoscaler) {}))

	message := condition(t, 4*time.Minute, ns, v.Name, "ScalerFollowing", "False", "TargetNotMoving")
	for _, part := range []string{"Deployment starved", "cannot create pods", "FailedCreate", "exceeded quota: one-pod"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q does not say %q", message, part)
		}
	}
	condition(t, 30*time.Second, ns, v.Name, "Ready", "False", "TargetNotMoving")
	eventually(t, 30*time.Second, func(ctx context.Context) string { return notFollowed(ctx, ns, v.Name, "TargetNotMoving") })

	quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("9")
	apply(t, quota)
	eventually(t, 4*time.Minute, func(ctx context.Context) string { // the ReplicaSet backs off meanwhile
		d, err := deployment(ctx, ns, v.Name)
		if err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas != 3 {
			return fmt.Sprintf("%d replicas are Ready, want 3", d.Status.ReadyReplicas)
		}
		return ""
	})
	condition(t, time.Minute, ns, v.Name, "ScalerFollowing", "True", "Following")
}

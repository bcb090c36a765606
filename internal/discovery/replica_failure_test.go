package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestADeploymentWhosePodsAreRefusedSaysSoUntilTheyAreNot(t *testing.T) {
	failing := func(status corev1.ConditionStatus) *appsv1.Deployment {
		d := deployment("d", nil)
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{
				Type: appsv1.DeploymentReplicaFailure, Status: status, Reason: "FailedCreate",
				Message: "exceeded quota: q", LastTransitionTime: metav1.NewTime(at(7)),
			},
		}
		return d
	}
	refused := scaling.Trouble{Reason: "FailedCreate", Message: "exceeded quota: q", Since: at(7)}
	va := variant("a", targeting("Deployment", "d"))
	cache := &fakeCache{}
	cluster := New(cache, fakeScales{})
	if got := cluster.PodFailure(keyOf(va)); got != (scaling.Trouble{}) {
		t.Errorf("before the first fleet: %+v", got)
	}
	for _, step := range []struct {
		name string
		d    *appsv1.Deployment
		want scaling.Trouble
	}{
		{"well", deployment("d", nil), scaling.Trouble{}},
		{"refused", failing(corev1.ConditionTrue), refused},
		{"no longer", failing(corev1.ConditionFalse), scaling.Trouble{}},
	} {
		cache.objects = []client.Object{va, step.d}
		if _, err := cluster.Fleet(t.Context(), at(10)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cluster.PodFailure(keyOf(va)), step.want); diff != "" {
			t.Errorf("%s, -got +want:\n%s", step.name, diff)
		}
	}
}

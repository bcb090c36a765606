package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStripKeepsWhatIsUsed(t *testing.T) {
	three := int32(3)
	ballast := metav1.ObjectMeta{
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{...}"}, Finalizers: []string{"f"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		Namespace:     "ns", Name: "n", UID: "u", ResourceVersion: "7", Generation: 2, OwnerReferences: controlledBy("o"),
	}
	yes := true
	kept := metav1.ObjectMeta{
		Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "7", Generation: 2,
		OwnerReferences: []metav1.OwnerReference{{UID: "o", Controller: &yes}},
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"k": "v"}, ServiceAccountName: "s",
		Containers: []corev1.Container{{Name: "c", Image: "i", Args: []string{"a"}}},
	}}
	digest := []corev1.EnvVar{{Name: envDigest, Value: startedWith(&template.Spec)}}
	bare := corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"k": "v"}, Containers: []corev1.Container{{Name: "c", Env: digest}}}}
	tests := map[string]struct{ object, want any }{
		"pod": {
			&corev1.Pod{
				ObjectMeta: ballast, Spec: corev1.PodSpec{NodeName: "node"},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "1.2.3.4", Conditions: []corev1.PodCondition{
					{Type: corev1.PodReady, Status: corev1.ConditionTrue, Message: "words"}, {Type: corev1.PodInitialized},
				}, StartTime: &metav1.Time{Time: at(4)}, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Image: "i", RestartCount: 2}, {Name: "d"}, waiting("e", "ErrImagePull"), waiting("f", "ContainerCreating")}},
			},
			&corev1.Pod{ObjectMeta: kept, Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				StartTime: &metav1.Time{Time: at(4)}, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 2}, waiting("e", "ErrImagePull")},
			}},
		},
		"deployment": {
			&appsv1.Deployment{ObjectMeta: ballast, Spec: appsv1.DeploymentSpec{Replicas: &three, Template: template}, Status: appsv1.DeploymentStatus{
				Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 1, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
					{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "words", LastUpdateTime: metav1.NewTime(at(3)), LastTransitionTime: metav1.NewTime(at(2))},
				},
			}},
			&appsv1.Deployment{ObjectMeta: kept, Spec: appsv1.DeploymentSpec{Replicas: &three, Template: bare}, Status: appsv1.DeploymentStatus{
				Replicas: 3, ReadyReplicas: 2, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "words", LastTransitionTime: metav1.NewTime(at(2))},
				},
			}},
		},
		"stateful set": {
			&appsv1.StatefulSet{ObjectMeta: ballast, Spec: appsv1.StatefulSetSpec{Replicas: &three, Template: template, ServiceName: "s"}, Status: appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: 2}},
			&appsv1.StatefulSet{ObjectMeta: kept, Spec: appsv1.StatefulSetSpec{Replicas: &three, Template: bare}, Status: appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: 2}},
		},
		"replica set":    {&metav1.PartialObjectMetadata{ObjectMeta: ballast}, &metav1.PartialObjectMetadata{ObjectMeta: kept}},
		"something else": {"tombstone", "tombstone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := strip(tt.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

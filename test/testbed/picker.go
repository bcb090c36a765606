package testbed

import (
	"context"
	"fmt"
	"net/url"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pickerName is the name of a namespace's endpoint picker.
const pickerName = "epp"

// DeployPicker deploys the emulated gateway of a namespace as the pod of an endpoint picker, where
// managers look for it to scrape it directly, and waits until it is Ready. Its metrics are those
// that Prometheus scrapes from the emulator. The namespace has to exist, and its removal removes
// the picker.
func (b *Bed) DeployPicker(ctx context.Context, namespace string, e *Emulator) error {
	at, err := url.Parse(e.URL)
	if err != nil {
		return fmt.Errorf("deploying an endpoint picker: reading the emulator's address: %w", err)
	}
	labels := map[string]string{"app": pickerName, "inferencepool": namespace}
	one := int32(1)
	picker := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pickerName},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{
					"prometheus.io/port": at.Port(), "prometheus.io/path": "/gateway/" + namespace + "/metrics",
				}},
				Spec: corev1.PodSpec{
					// The address of a node is that of this machine, on which the emulator listens.
					HostNetwork: true,
					// Nodes of AddNode take only as many pods as they have GPUs.
					NodeSelector: map[string]string{"type": "kwok"},
					Tolerations:  []corev1.Toleration{{Key: gpuTaint, Operator: corev1.TolerationOpExists}},
					Containers:   []corev1.Container{{Name: pickerName, Image: "llm-d-inference-scheduler:emulated"}},
				},
			},
		},
	}
	if err := b.Apply(ctx, picker); err != nil {
		return err
	}
	if err := poll(ctx, func() (bool, error) {
		err := b.Client.Get(ctx, client.ObjectKeyFromObject(picker), picker)
		return picker.Status.ReadyReplicas == one, err
	}); err != nil {
		return fmt.Errorf("waiting for the endpoint picker of %s: %w", namespace, err)
	}
	return nil
}

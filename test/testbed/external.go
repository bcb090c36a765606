package testbed

import (
	"context"
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	externalMetricsService = "workload-variant-autoscaler-external-metrics"
	externalMetricsAPI     = "v1beta1.external.metrics.k8s.io"
)

// registerExternalMetrics makes the API server send external.metrics.k8s.io to the manager's port,
// by a Service that is an alias of localhost, and waits until it does.
func (b *Bed) registerExternalMetrics(ctx context.Context, port int, caBundle []byte) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: externalMetricsService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": externalMetricsAPI},
		"spec": map[string]any{
			"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"caBundle": base64.StdEncoding.EncodeToString(caBundle),
			"service":  map[string]any{"namespace": SystemNamespace, "name": externalMetricsService, "port": int64(port)},
		},
	}}
	if err := b.Apply(ctx, service); err != nil {
		return err
	}
	if err := b.Apply(ctx, api); err != nil {
		return err
	}
	// No namespace can be removed while no server answers for the APIService.
	b.Cleanup(b.UnregisterExternalMetrics)
	var last string
	err := poll(ctx, func() (bool, error) {
		if err := b.Client.Get(ctx, client.ObjectKeyFromObject(api), api); err != nil {
			return false, fmt.Errorf("reading APIService %s: %w", externalMetricsAPI, err)
		}
		conditions, _, _ := unstructured.NestedSlice(api.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "Available" {
				last = fmt.Sprint(m["message"])
				return m["status"] == "True", nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server to reach the External Metrics API (%s): %w", last, err)
	}
	return nil
}

// UnregisterExternalMetrics removes the registration.
func (b *Bed) UnregisterExternalMetrics(ctx context.Context) error {
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	api.SetName(externalMetricsAPI)
	if err := b.Client.Delete(ctx, api); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing APIService %s: %w", externalMetricsAPI, err)
	}
	return nil
}

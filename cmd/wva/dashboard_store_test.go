package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// TestThePrometheusOfTheManagerIsFoundOnAPIServer has the manager's configuration in a ConfigMap, then in a variable too.
func TestThePrometheusOfTheManagerIsFoundOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	const system = "its-system"
	for _, name := range []string{system, "elsewhere"} {
		if err := c.Namespace(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if got := configuredPrometheus(t.Context(), c.Client, system); got != "" {
		t.Errorf("before there is a manager it is %q", got)
	}
	settings := func(namespace, name, address string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{prometheusKey: address}}
	}
	for _, m := range []*corev1.ConfigMap{
		settings("elsewhere", "workload-variant-autoscaler-variantautoscaling-config", "https://of-another-namespace"),
		settings(system, "unrelated", "https://of-another-program"),
		settings(system, "workload-variant-autoscaler-variantautoscaling-config", "https://prometheus.monitoring.svc:9091"),
	} {
		if err := c.Client.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if got := configuredPrometheus(t.Context(), c.Client, system); got != "https://prometheus.monitoring.svc:9091" {
		t.Errorf("of the settings it is %q", got)
	}
	labels := map[string]string{"app": "manager"}
	container := corev1.Container{Name: "manager", Image: "manager", Env: []corev1.EnvVar{{Name: prometheusKey, Value: "https://of-a-variable"}}}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "manager"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
	}}
	if err := c.Client.Create(t.Context(), manager); err != nil {
		t.Fatal(err)
	}
	if got := configuredPrometheus(t.Context(), c.Client, system); got != "https://of-a-variable" {
		t.Errorf("of a variable, which goes before the settings, it is %q", got)
	}
}

func TestAPrometheusWithinTheClusterIsAskedByWayOfTheAPIServer(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprintf("%s %s?%s", r.Header.Get("Authorization"), r.URL.Path, r.URL.RawQuery))
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	}))
	defer server.Close()
	t.Setenv("PROMETHEUS_BEARER_TOKEN", "of-the-user")
	kubeconfig := &rest.Config{Host: server.URL + "/clusters/a", BearerToken: "of-the-kubeconfig"}
	for address, want := range map[string]string{
		"https://prometheus-operated.monitoring.svc.cluster.local:9090":    "Bearer of-the-kubeconfig /clusters/a/api/v1/namespaces/monitoring/services/https:prometheus-operated:9090/proxy/api/v1/query?",
		"http://thanos.monitoring.svc/tenant/a?dedup=true":                 "Bearer of-the-kubeconfig /clusters/a/api/v1/namespaces/monitoring/services/thanos:80/proxy/tenant/a/api/v1/query?dedup=true",
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/prom": " /prom/api/v1/query?",
	} {
		asked = nil
		source, err := fromHere(kubeconfig, address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		now := time.Now()
		if _, err := source.Range(t.Context(), "up", now.Add(-time.Hour), now, time.Minute); err != nil || !slices.Equal(asked, []string{want}) {
			t.Errorf("%s is asked by %q, %v; want %q", address, asked, err, want)
		}
	}
	if _, err := fromHere(kubeconfig, "https://thanos.example.com"); err == nil || !strings.Contains(err.Error(), "wva dashboard --prometheus asks it with yours") {
		t.Errorf("an address elsewhere, to which no credentials may go: %v", err)
	}
}

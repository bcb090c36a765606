package testbed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

const (
	externalMetricsService = "workload-variant-autoscaler-external-metrics"
	externalMetricsAPI     = "v1beta1.external.metrics.k8s.io"
	managerName            = "workload-variant-autoscaler-controller-manager"
)

// Manager is a running manager.
type Manager struct {
	*Process
	// URL is the base of /metrics and /debug/decisions.
	URL string
	// HealthURL is the base of /healthz and /readyz.
	HealthURL string
	client    *http.Client
	token     string
	interval  time.Duration
}

// ManagerOptions configures StartManager.
type ManagerOptions struct {
	Interval time.Duration // GLOBAL_OPT_INTERVAL; default 5s
	// Prometheus replaces the Bed's own, to show what happens without it.
	Prometheus string
	// NoExternalMetrics leaves the External Metrics API off.
	NoExternalMetrics bool
	// Thresholds is the default entry of saturation-scaling-config, as YAML. Empty
	// leaves the defaults in force.
	Thresholds string
	Env        []string // further NAME=value pairs
}

// StartManager installs the manager's role and account and runs it as that
// account, with its External Metrics API registered with the API server.
func (b *Bed) StartManager(ctx context.Context, o ManagerOptions) (*Manager, error) {
	if o.Interval == 0 {
		o.Interval = 5 * time.Second
	}
	if o.Prometheus == "" {
		o.Prometheus = b.State.Prometheus
	}
	kubeconfig, err := b.installAccount(ctx)
	if err != nil {
		return nil, err
	}
	if o.Thresholds != "" {
		if err := b.Apply(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: "saturation-scaling-config"},
			Data:       map[string]string{"default": o.Thresholds},
		}); err != nil {
			return nil, err
		}
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	certs, caBundle, err := b.certificates()
	if err != nil {
		return nil, err
	}
	loopback := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	args := []string{
		"--metrics-bind-address", loopback(0), "--metrics-cert-path", certs,
		"--health-probe-bind-address", loopback(1), "--allow-insecure-prometheus",
	}
	if !o.NoExternalMetrics {
		args = append(args, "--external-metrics-bind-address", loopback(2), "--external-metrics-cert-path", certs)
	}
	env := append([]string{
		"KUBECONFIG=" + kubeconfig, "PROMETHEUS_BASE_URL=" + o.Prometheus, "GLOBAL_OPT_INTERVAL=" + o.Interval.String(),
		"POD_NAMESPACE=" + SystemNamespace,
	}, o.Env...)
	p, err := b.run("manager", "manager", args, env)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caBundle)
	m := &Manager{
		Process: p, URL: "https://" + loopback(0), HealthURL: "http://" + loopback(1), token: b.Config.BearerToken, interval: o.Interval,
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}},
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.until(ctx, func() bool { return m.healthy(ctx) }); err != nil {
		return nil, err
	}
	if o.NoExternalMetrics {
		return m, nil
	}
	return m, b.registerExternalMetrics(ctx, ports[2], caBundle)
}

func (m *Manager) healthy(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.HealthURL+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Explain returns what the manager knows of every variant.
func (m *Manager) Explain(ctx context.Context) ([]explain.Explanation, error) {
	body, err := m.Get(ctx, "/debug/decisions")
	if err != nil {
		return nil, err
	}
	var out []explain.Explanation
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("reading the manager's decisions: %w", err)
	}
	return out, nil
}

// Get reads a path of the manager's authenticated port.
func (m *Manager) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the manager: %w", path, err)
	}
	req.Header.Set("Authorization", "Bearer "+m.token)
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the manager: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the manager: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %s of the manager: %s: %.200s", path, resp.Status, body)
	}
	return body, nil
}

// registerExternalMetrics makes the API server send external.metrics.k8s.io to
// the manager's port, by a Service that is another name for localhost, and waits
// until it does.
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

// freePorts returns n loopback ports that nobody listened on just now.
func freePorts(n int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		listeners = append(listeners, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// certificates writes a serving certificate for the manager, signed by the
// cluster's CA, and returns its folder and the CA's certificate.
func (b *Bed) certificates() (dir string, caBundle []byte, err error) {
	caCert, err := os.ReadFile(b.State.CACert)
	if err != nil {
		return "", nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	caKey, err := os.ReadFile(b.State.CAKey)
	if err != nil {
		return "", nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	host := externalMetricsService + "." + SystemNamespace + ".svc"
	cert, key, err := issue(caCert, caKey, host, "localhost")
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(b.Dir, "manager-certs")
	return dir, caCert, errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
	)
}

package testbed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/freeport"
)

// managerName is the name of the manager's account and roles.
const managerName = "workload-variant-autoscaler-controller-manager"

// Manager is a running manager.
type Manager struct {
	*Process
	// URL is the base of /metrics and /debug/decisions.
	URL string
	// HealthURL is the base of /healthz and /readyz.
	HealthURL string
	// ExternalURL is the base of its own External Metrics API, "" without one.
	ExternalURL string

	externalPort int
	client       *http.Client
	token        string
}

// ManagerOptions configures StartManager and StartManagers.
type ManagerOptions struct {
	// Name is the name of the process and of its log, "manager" by default; a number follows where
	// several are started at once. Managers that run at once have different names.
	Name     string
	Interval time.Duration // GLOBAL_OPT_INTERVAL; default 5s
	// APIServer replaces the cluster's own: host and port of a server on this machine with a
	// certificate for 127.0.0.1 by the cluster's CA.
	APIServer string
	// Prometheus replaces the URL of the Bed's Prometheus.
	Prometheus string
	// NoExternalMetrics leaves the External Metrics API off.
	NoExternalMetrics bool
	// Lease lets the managers elect a leader, which loses the lead when it has not renewed it for
	// this time; at least 3s. 0: each manager leads.
	Lease time.Duration
	// Thresholds is the default entry of saturation-scaling-config, as YAML. Empty leaves the
	// present entry.
	Thresholds string
	Env        []string // further NAME=value pairs
	// Unready does not wait until the managers are ready. It needs NoExternalMetrics, since that
	// API is waited for.
	Unready bool
}

// StartManager installs the manager's role and account and runs it as that account, with its
// External Metrics API registered with the API server.
func (b *Bed) StartManager(ctx context.Context, o ManagerOptions) (*Manager, error) {
	s, err := b.prepareManagers(ctx, o)
	if err != nil {
		return nil, err
	}
	m, err := s.start(ctx, s.Name)
	if err != nil || o.NoExternalMetrics {
		return m, err
	}
	return m, b.registerExternalMetrics(ctx, m.externalPort, s.caBundle)
}

// StartManagers is StartManager for n managers at once. A forwarder between the API server and
// their External Metrics APIs connects to ready managers, as a Service would.
func (b *Bed) StartManagers(ctx context.Context, n int, o ManagerOptions) ([]*Manager, error) {
	s, err := b.prepareManagers(ctx, o)
	if err != nil {
		return nil, err
	}
	var managers []*Manager
	for i := range n {
		m, err := s.start(ctx, fmt.Sprintf("%s-%d", s.Name, i))
		if err != nil {
			return nil, err
		}
		managers = append(managers, m)
	}
	if o.NoExternalMetrics {
		return managers, nil
	}
	port, err := b.startForwarder(ctx, managers)
	if err != nil {
		return nil, err
	}
	return managers, b.registerExternalMetrics(ctx, port, s.caBundle)
}

// starter has the settings that all managers share.
type starter struct {
	*Bed
	ManagerOptions
	kubeconfig string
	certs      string // folder
	caBundle   []byte
	client     *http.Client
}

// prepareManagers creates what managers need in the cluster and on this machine.
func (b *Bed) prepareManagers(ctx context.Context, o ManagerOptions) (*starter, error) {
	if o.Interval == 0 {
		o.Interval = 5 * time.Second
	}
	if o.Name == "" {
		o.Name = "manager"
	}
	if o.Prometheus == "" {
		o.Prometheus = b.State.Prometheus
	}
	s := &starter{Bed: b, ManagerOptions: o}
	var err error
	if s.kubeconfig, err = b.account(ctx); err != nil {
		return nil, err
	}
	if o.APIServer != "" {
		if s.kubeconfig, err = b.elsewhere(o.Name, s.kubeconfig, o.APIServer); err != nil {
			return nil, err
		}
	}
	if o.Thresholds != "" {
		if err := b.Apply(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: "saturation-scaling-config"},
			Data:       map[string]string{"default": o.Thresholds},
		}); err != nil {
			return nil, err
		}
	}
	if s.certs, s.caBundle, err = b.certificates(o.Name); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.caBundle)
	s.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	return s, nil
}

// start runs a manager and waits until it is ready, unless Unready.
func (s *starter) start(ctx context.Context, name string) (*Manager, error) {
	ports, err := freeport.Choose(3)
	if err != nil {
		return nil, err
	}
	loopback := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	m := &Manager{
		URL: "https://" + loopback(0), HealthURL: "http://" + loopback(1), token: s.Config.BearerToken, client: s.client,
	}
	args := []string{
		"--metrics-bind-address", loopback(0), "--metrics-cert-path", s.certs,
		"--health-probe-bind-address", loopback(1), "--allow-insecure-prometheus",
	}
	if !s.NoExternalMetrics {
		m.ExternalURL, m.externalPort = "https://"+loopback(2), ports[2]
		args = append(args, "--external-metrics-bind-address", loopback(2), "--external-metrics-cert-path", s.certs)
	}
	if s.Lease > 0 {
		args = append(args, "--leader-elect", "--leader-election-lease-duration", s.Lease.String(),
			"--leader-election-renew-deadline", (s.Lease * 2 / 3).String(), "--leader-election-retry-period", time.Second.String())
	}
	if m.Process, err = s.run(name, filepath.Join("bin", "manager"), args, append([]string{
		"KUBECONFIG=" + s.kubeconfig, "PROMETHEUS_BASE_URL=" + s.Prometheus, "GLOBAL_OPT_INTERVAL=" + s.Interval.String(),
		"POD_NAMESPACE=" + SystemNamespace,
	}, s.Env...)); err != nil {
		return nil, err
	}
	if s.Unready {
		return m, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return m, m.until(ctx, func() bool { return m.Ready(ctx) == nil })
}

// startForwarder starts a forwarder to the managers' External Metrics APIs, in place of the
// previous one, and returns its port.
func (b *Bed) startForwarder(ctx context.Context, managers []*Manager) (port int, err error) {
	if b.forwarder != nil {
		b.forwarder.Stop()
	}
	address := filepath.Join(b.Dir, "forwarder.address")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("starting the forwarder: %w", err)
	}
	args := []string{"forward", "--address-file", address}
	for _, m := range managers {
		args = append(args, "--backend", fmt.Sprintf("127.0.0.1:%d=%s/readyz", m.externalPort, m.HealthURL))
	}
	p, err := b.run("forwarder", filepath.Join(".local", "bin", "localcluster"), args, nil)
	if err != nil {
		return 0, err
	}
	b.forwarder = p
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	listens, err := p.file(ctx, address)
	if err != nil {
		return 0, err
	}
	_, text, err := net.SplitHostPort(listens)
	if err != nil {
		return 0, fmt.Errorf("reading the forwarder's address: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return 0, fmt.Errorf("reading the forwarder's address: %w", err)
	}
	return port, nil
}

// certificates writes a serving certificate for the managers called name, signed by the cluster's
// CA, and returns its folder and the CA's certificate.
func (b *Bed) certificates(name string) (dir string, caBundle []byte, err error) {
	caCert, err := os.ReadFile(b.State.CACert)
	if err != nil {
		return "", nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	host := externalMetricsService + "." + SystemNamespace + ".svc"
	cert, key, err := b.Issue(host, "localhost")
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(b.Dir, name+"-certs")
	return dir, caCert, errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
	)
}

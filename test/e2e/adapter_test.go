//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/freeport"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestReplicasFollowThroughPrometheusAdapter has the manager serve nothing but its
// metrics page. Prometheus scrapes that, prometheus-adapter reads Prometheus by the
// rules of config/samples, and the HPA of config/samples reads the adapter.
func TestReplicasFollowThroughPrometheusAdapter(t *testing.T) {
	const ns, name = "by-adapter", "cheap"
	path := filepath.Join(shared.bed.Root, ".local", "bin", "prometheus-adapter")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("prometheus-adapter is built by make prometheus-adapter: %v", err)
	}
	withoutExternalMetrics(t)
	v := aside(ns, name)
	deploy(t, v)
	startPrometheusAdapter(t, path)
	reads(t, ns, name, 1)
	apply(t, sampleHPA(t, ns, name))

	for _, n := range []int32{3, 2} {
		bind(t, ns, name, n)
		// One item with that number: the manager is scraped twice, and not added up.
		reads(t, ns, name, n)
		has(t, ns, name, n)
	}
	condition(t, time.Minute, ns, name, "ScalerFollowing", "True", "Following")
	probeByDecision(t, ns, name, "served passed")
	var events corev1.EventList
	if err := shared.bed.Client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	want := "New size: 3; reason: external metric wva_desired_replicas"
	for _, e := range events.Items {
		if e.Reason == "SuccessfulRescale" && strings.HasPrefix(e.Message, want) {
			return
		}
	}
	t.Errorf("no event SuccessfulRescale begins with %q", want)
}

// startPrometheusAdapter runs it with the rules that the sample gives its chart,
// and lets it serve External Metrics.
func startPrometheusAdapter(t *testing.T, path string) {
	t.Helper()
	values := samples(t, "prometheus-adapter/values.yaml", strings.NewReplacer())[0]
	external, found, err := unstructured.NestedSlice(values.Object, "rules", "external")
	if err != nil || !found {
		t.Fatalf("the sample has no rules.external (%v)", err)
	}
	rules, err := yaml.Marshal(map[string]any{"externalRules": external})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, rules, 0o600); err != nil {
		t.Fatal(err)
	}
	certify(t, dir, "prometheus-adapter.monitoring.svc")
	port := ports(t, 1)[0]
	kubeconfig := shared.bed.State.Kubeconfig
	program(t, "prometheus-adapter", path, nil,
		"--config="+config, "--prometheus-url="+shared.bed.State.Prometheus, "--metrics-relist-interval=5s", "--metrics-max-age=1m",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--tls-cert-file="+filepath.Join(dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(dir, "tls.key"),
		"--lister-kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	serveExternalMetrics(t, "monitoring", "prometheus-adapter", port)
}

// samples are the objects in a file of config/samples, with other names in it.
func samples(t *testing.T, file string, renamed *strings.Replacer) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shared.bed.Root, "config", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(renamed.Replace(string(text)), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// The variant of the samples.
const sampleNamespace, sampleVariant = "llm-inference", "llama-8b-l40s"

// sampleHPA is the HPA of config/samples for another variant.
func sampleHPA(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	return samples(t, "hpa/hpa.yaml", strings.NewReplacer(sampleNamespace, namespace, sampleVariant, name))[0]
}

// withoutExternalMetrics leaves the manager's metrics page as the only way to learn what
// was decided, beside what further variables of its environment switch on, and has
// Prometheus scrape it twice over. The end of the test undoes it.
func withoutExternalMetrics(t *testing.T, env ...string) {
	t.Helper()
	if err := shared.bed.UnregisterExternalMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	restart(t, testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true, Env: env})
	scrapeManager(t, "manager", "manager-again")
}

// scrapeToken makes the account that the sample ServiceMonitor scrapes as, and
// returns its token.
func scrapeToken(t *testing.T) string {
	t.Helper()
	secret := &corev1.Secret{}
	for _, o := range samples(t, "prometheus-operator/servicemonitor.yaml", strings.NewReplacer()) {
		if o.GetKind() == "ServiceMonitor" {
			continue // the test does not read it
		}
		apply(t, o)
		shared.bed.Cleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.bed.Client.Delete(ctx, o)) })
		if o.GetKind() == "Secret" {
			secret.Namespace, secret.Name = o.GetNamespace(), o.GetName()
		}
	}
	eventually(t, time.Minute, func(ctx context.Context) string {
		if err := shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err.Error()
		}
		if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
			return fmt.Sprintf("Secret %s has no token", secret.Name)
		}
		return ""
	})
	return string(secret.Data[corev1.ServiceAccountTokenKey])
}

// has waits until a Deployment is to have n replicas.
func has(t *testing.T, namespace, name string, n int32) {
	t.Helper()
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas != n {
			return fmt.Sprintf("the Deployment is to have %d replicas, want %d", *d.Spec.Replicas, n)
		}
		return ""
	})
}

// program runs a program of others as the cluster's administrator until the test
// ends, and fails the test if it ends before.
func program(t *testing.T, name, path string, env []string, args ...string) {
	t.Helper()
	t.Cleanup(launch(t, name, path, env, args...))
}

// launch is program until stop is called.
func launch(t *testing.T, name, path string, env []string, args ...string) (stop func()) {
	t.Helper()
	file := filepath.Join(shared.bed.Dir, "log", name+".log")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+shared.bed.State.Kubeconfig), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting %s: %v", name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := cmd.Wait()
		if ctx.Err() == nil {
			t.Errorf("%s ended early (%v): see %s", name, err, file)
		}
		out.Close()
	}()
	return func() {
		cancel()
		<-done
	}
}

// certify writes ca.crt, and tls.crt with tls.key for a host and this machine,
// signed by the cluster's CA, for both ends of a connection.
func certify(t *testing.T, dir, host string) {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(shared.bed.State.CACert, shared.bed.State.CAKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{host}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"ca.crt": {Type: "CERTIFICATE", Bytes: ca.Certificate[0]}, "tls.crt": {Type: "CERTIFICATE", Bytes: der},
		"tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// ports returns n loopback ports that were free just now.
func ports(t *testing.T, n int) []int {
	t.Helper()
	free, err := freeport.Choose(n)
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// serveExternalMetrics makes the API server send external.metrics.k8s.io to a port
// of this machine, as if it were that of a Service, and waits until it does.
func serveExternalMetrics(t *testing.T, namespace, service string, port int) {
	t.Helper()
	ca, err := os.ReadFile(shared.bed.State.CACert)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.bed.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.external.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"caBundle": base64.StdEncoding.EncodeToString(ca),
			"service":  map[string]any{"namespace": namespace, "name": service, "port": int64(port)},
		},
	}}
	apply(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, api)
	eventually(t, time.Minute, func(ctx context.Context) string {
		if err := shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(api), api); err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(api.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "Available" && m["status"] == "True" {
				return ""
			}
		}
		return fmt.Sprintf("%s/%s does not serve External Metrics: %v", namespace, service, conditions)
	})
}

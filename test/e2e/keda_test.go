//go:build e2e && soak

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestReplicasFollowThroughKEDA has the real KEDA carry out the ScaledObjects of
// config/samples: by the metric, by the fallback while there is none, and from zero,
// where an HPA does nothing.
func TestReplicasFollowThroughKEDA(t *testing.T) {
	const ns = "by-keda"
	withoutExternalMetrics(t)
	follows, wakes, shows, asks, rests := aside(ns, "follows"), aside(ns, "wakes"), aside(ns, "shows"), aside(ns, "asks"), aside(ns, "rests")
	wakes.Replicas = 0
	wakes.Min, shows.Min, asks.Min = 2, 2, 2
	deploy(t, follows, wakes, shows, asks, rests)
	startKEDA(t)
	prometheus := startDoor(t, shared.bed.State.Prometheus)
	// It takes a minute to be called deaf.
	apply(t, sampleHPA(t, ns, asks.Name))

	t.Run("up and down by the metric, and up by the fallback", func(t *testing.T) {
		so := scaledObject(t, "keda/scaledobject.yaml", ns, follows.Name, prometheus.url())
		for _, n := range []int32{3, 2} {
			bind(t, ns, follows.Name, n)
			has(t, ns, follows.Name, n)
		}
		condition(t, time.Minute, ns, follows.Name, "ScalerFollowing", "True", "Following")
		probeByDecision(t, ns, follows.Name, "served skipped")
		least, _, err := unstructured.NestedInt64(so.Object, "spec", "fallback", "replicas")
		if err != nil || least <= 2 {
			t.Fatalf("the fallback is to %d replicas (%v): it shows nothing unless it moves something", least, err)
		}

		prometheus.shut()
		has(t, ns, follows.Name, int32(least))
		eventually(t, time.Minute, func(ctx context.Context) string { return fallsBack(ctx, so, "True") })
		prometheus.open(t)
		has(t, ns, follows.Name, 2)
		eventually(t, time.Minute, func(ctx context.Context) string { return fallsBack(ctx, so, "False") })

		// A metric that is gone is not the number 0, of which KEDA would make the least.
		va, err := autoscaling(t.Context(), ns, follows.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := shared.bed.Client.Delete(t.Context(), va); err != nil {
			t.Fatal(err)
		}
		has(t, ns, follows.Name, int32(least))
	})
	t.Run("from zero", func(t *testing.T) {
		has(t, ns, wakes.Name, 0)
		scaledObject(t, "keda/scaledobject-zero.yaml", ns, wakes.Name, prometheus.url())
		has(t, ns, wakes.Name, 2)
	})
	t.Run("with a token and a CA, as on OpenShift", func(t *testing.T) {
		scaledObject(t, "openshift/scaledobject.yaml", ns, shows.Name, startQuerier(t, ns))
		has(t, ns, shows.Name, 2)
	})
	t.Run("a paused one is named", func(t *testing.T) {
		so := scaledObject(t, "keda/scaledobject.yaml", ns, rests.Name, prometheus.url())
		condition(t, time.Minute, ns, rests.Name, "ScalerFollowing", "True", "Following")
		if err := shared.bed.Client.Patch(t.Context(), so, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`))); err != nil {
			t.Fatal(err)
		}
		condition(t, time.Minute, ns, rests.Name, "ScalerFollowing", "False", "ScalerPaused")
		out, _ := wva(t, nil, "doctor", rests.Name, "-n", ns, "-o", "json", "--manager", shared.manager.URL, "--kubeconfig", shared.bed.State.Kubeconfig)
		if !slices.Contains(codesOf(out), "WVA0607") {
			t.Errorf("wva doctor does not name it by WVA0607:\n%s", out)
		}
	})
	t.Run("and an HPA that asks for the metric itself is told about", func(t *testing.T) {
		t.Log(condition(t, 3*time.Minute, ns, asks.Name, "ScalerFollowing", "False", "HPANotReadingMetric"))
		d, err := deployment(t.Context(), ns, asks.Name)
		if err != nil {
			t.Fatal(err)
		}
		if *d.Spec.Replicas != 1 {
			t.Errorf("the Deployment is to have %d replicas, and no reader could know", *d.Spec.Replicas)
		}
	})
}

// startKEDA installs the definitions of the module that its programs are built
// from, runs the operator and the metrics adapter, and lets the latter serve
// External Metrics. What it returns ends both and starts them anew.
func startKEDA(t *testing.T) (restart func()) {
	t.Helper()
	defineKEDA(t)
	const service = "keda-metrics-apiserver"
	if err := shared.bed.Namespace(t.Context(), kedaNamespace); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certify(t, dir, service+"."+kedaNamespace+".svc")
	free := ports(t, 5)
	var stops []func()
	stop := func() {
		for _, end := range stops {
			end()
		}
	}
	start := func() { stops = []func(){runKEDAOperator(t, dir, free), runKEDAAdapter(t, dir, free)} }
	t.Cleanup(stop) // after that of every ScaledObject, whose finalizer the operator removes
	start()
	serveExternalMetrics(t, kedaNamespace, service, free[3])
	return func() {
		stop()
		start()
	}
}

// kedaNamespace is where KEDA's operator is, for which it is no more than a name.
const kedaNamespace = "keda"

var kedaEnv = []string{"POD_NAMESPACE=" + kedaNamespace, "KEDA_CLUSTER_OBJECT_NAMESPACE=" + kedaNamespace, "WATCH_NAMESPACE="}

// runKEDAOperator runs the operator with the first three of some ports, and waits until
// it is ready.
func runKEDAOperator(t *testing.T, certs string, free []int) (stop func()) {
	t.Helper()
	stop = launch(t, "keda-operator", filepath.Join(shared.bed.Root, ".local", "bin", "keda-operator"), kedaEnv,
		"--metrics-bind-address="+loopback(free[0]), "--health-probe-bind-address="+loopback(free[1]), "--metrics-service-bind-address="+loopback(free[2]),
		"--cert-dir="+certs, "--zap-log-level=info")
	eventually(t, time.Minute, func(ctx context.Context) string { return answers(ctx, "http://"+loopback(free[1])+"/readyz") })
	return stop
}

// runKEDAAdapter runs the metrics adapter, which asks the operator at the third of some
// ports and listens at the two after it.
func runKEDAAdapter(t *testing.T, certs string, free []int) (stop func()) {
	t.Helper()
	kubeconfig := shared.bed.State.Kubeconfig
	return launch(t, "keda-adapter", filepath.Join(shared.bed.Root, ".local", "bin", "keda-adapter"), kedaEnv,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", free[3]), fmt.Sprintf("--port=%d", free[4]),
		"--metrics-service-address="+loopback(free[2]), "--cert-dir="+certs, "--client-ca-file="+filepath.Join(certs, "ca.crt"),
		"--tls-cert-file="+filepath.Join(certs, "tls.crt"), "--tls-private-key-file="+filepath.Join(certs, "tls.key"),
		"--lister-kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// answers says why a URL does not answer 200, or returns "".
func answers(ctx context.Context, from string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return from + " answered " + resp.Status
	}
	return ""
}

// defineKEDA replaces the definition that the other scenarios use by those of the
// module, until the test ends, and compares them with those that the samples are
// checked by.
func defineKEDA(t *testing.T) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2")
	list.Dir = filepath.Join(shared.bed.Root, "test", "localcluster", "keda")
	list.Stderr = t.Output()
	module, err := list.Output()
	if err != nil {
		t.Fatalf("looking for the module of KEDA: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the module of KEDA has no definitions (%v)", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked := filepath.Join(shared.bed.Root, "config", "samples", "testdata", "crd", filepath.Base(file))
		if copied, err := os.ReadFile(checked); err == nil && !bytes.Equal(copied, data) {
			t.Errorf("%s is not that of the module: copy %s", checked, file)
		}
		def := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, def); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := shared.bed.Define(t.Context(), def); err != nil {
			t.Fatal(err)
		}
		if before := scaledObjects(); def.Name == before.Name {
			t.Cleanup(func() {
				if err := shared.bed.Define(context.Background(), before); err != nil {
					t.Error(err)
				}
			})
			continue
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(shared.bed.Client.Delete(context.Background(), def)); err != nil {
				t.Errorf("removing %s: %v", def.Name, err)
			}
		})
	}
}

// scaledObject applies a file of config/samples for another variant and another
// Prometheus, with further replacements, until the test ends, and returns the
// ScaledObject in it.
func scaledObject(t *testing.T, file, namespace, name, prometheus string, further ...string) *unstructured.Unstructured {
	t.Helper()
	var so *unstructured.Unstructured
	for _, o := range samples(t, file, strings.NewReplacer(append([]string{
		sampleNamespace, namespace, sampleVariant, name,
		"http://prometheus-operated.monitoring.svc:9090", prometheus, "https://thanos-querier.openshift-monitoring.svc:9091", prometheus,
	}, further...)...)) {
		apply(t, o)
		if o.GetKind() == "ScaledObject" {
			so = o
		}
	}
	t.Cleanup(func() { letGo(t, so) })
	return so
}

// startQuerier serves Prometheus as OpenShift does: over TLS, with the CA in a
// ConfigMap of the namespace, to a client that shows the token of the sample's account.
func startQuerier(t *testing.T, namespace string) string {
	t.Helper()
	dir := t.TempDir()
	certify(t, dir, "thanos-querier.openshift-monitoring.svc")
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "openshift-service-ca.crt"}, Data: map[string]string{"service-ca.crt": string(ca)},
	})
	target, err := url.Parse(shared.bed.State.Prometheus)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, err := read(r.Context(), namespace, "wva-decision-reader-token", &corev1.Secret{})
		token := string(secret.Data[corev1.ServiceAccountTokenKey])
		if err != nil || token == "" || r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// fallsBack says that the condition Fallback of a ScaledObject has not the status,
// or returns "".
func fallsBack(ctx context.Context, so *unstructured.Unstructured, status string) string {
	now := so.NewEmptyInstance().(*unstructured.Unstructured)
	now.SetGroupVersionKind(so.GroupVersionKind())
	if err := shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(so), now); err != nil {
		return err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Fallback" && m["status"] == status {
			return ""
		}
	}
	return fmt.Sprintf("the condition Fallback is not %s: %v", status, conditions)
}

// letGo deletes a ScaledObject while the operator, which has a finalizer on it,
// still runs.
func letGo(t *testing.T, so *unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for err := error(nil); err == nil; err = shared.bed.Client.Get(ctx, client.ObjectKeyFromObject(so), so) {
		if err := client.IgnoreNotFound(shared.bed.Client.Delete(ctx, so)); err != nil {
			t.Errorf("removing the ScaledObject: %v", err)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// door stands between a client and a server, and can be shut.
type door struct {
	proxy  http.Handler
	addr   string
	server *httptest.Server
}

func startDoor(t *testing.T, to string) *door {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{proxy: httputil.NewSingleHostReverseProxy(target), addr: "127.0.0.1:0"}
	d.open(t)
	t.Cleanup(d.shut)
	return d
}

func (d *door) url() string { return "http://" + d.addr }

// open lets clients in at the address where they were before.
func (d *door) open(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	d.server = httptest.NewUnstartedServer(d.proxy)
	d.server.Listener.Close()
	d.server.Listener = l
	d.server.Start()
}

// shut ends every connection and refuses new ones.
func (d *door) shut() {
	d.server.CloseClientConnections()
	d.server.Close()
}

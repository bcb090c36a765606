package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// kubelet stands in for that of a node: it leads a forwarded port to the
// manager.
type kubelet struct {
	manager string // its address
	asked   chan string
}

// ServeHTTP serves /portForward/{namespace}/{pod} as the API server asks for it,
// with a pair of streams for each connection: one for what goes wrong, which is
// nothing, and one for what is sent.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				_ = s.Close()
				continue
			}
			k.asked <- r.URL.Path + ":" + s.Headers().Get(corev1.PortHeader)
			go k.lead(s)
		}
	}
}

// lead copies between a stream and the manager until one of them ends.
func (k *kubelet) lead(s httpstream.Stream) {
	to, err := net.Dial("tcp", k.manager)
	if err != nil {
		_ = s.Reset()
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, s) }()
	_, _ = io.Copy(s, to)
	_ = s.Close()
}

// TestExplainForwardsAPortOnAPIServer asks a manager through the real API server,
// whose pod is on a node whose kubelet stands here.
func TestExplainForwardsAPortOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	authorization := make(chan string, 8)
	manager := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization <- r.Header.Get("Authorization")
		if r.URL.Path != "/debug/decisions/demo/chat" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(explain.Explanation{Cycle: "c-1", Variant: scaling.Variant{Key: scaling.VariantKey{Namespace: "demo", Name: "chat"}}})
	}))
	defer manager.Close()
	k := &kubelet{manager: manager.Listener.Addr().String(), asked: make(chan string, 8)}
	node := httptest.NewUnstartedServer(k)
	node.TLS = c.serving(t, "localhost")
	node.StartTLS()
	defer node.Close()
	c.on(t, node.Listener.Addr().(*net.TCPAddr).Port)
	c.system(t)
	c.held(t, "manager-0_1234", time.Second)
	if err := c.Namespace(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "chat"},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "org/chat"},
	}
	if err := c.Client.Create(t.Context(), va); err != nil {
		t.Fatal(err)
	}

	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: manager.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"without a CA": nil, "with the manager's CA": {"--manager-ca", ca}} {
		t.Run(name, func(t *testing.T) {
			out, warnings, err := c.explain(t, append([]string{"chat", "-n", "demo"}, args...)...)
			if err != nil || !strings.HasPrefix(out, "demo/chat:") {
				t.Fatalf("%v; wrote %s%s", err, out, warnings)
			}
			if got, want := <-k.asked, "/portForward/"+defaultSystemNamespace+"/manager-0:9443"; got != want {
				t.Errorf("the kubelet was asked for %s, want %s", got, want)
			}
			if got := <-authorization; got != "Bearer "+c.Config.BearerToken || c.Config.BearerToken == "" {
				t.Errorf("the manager was shown %q, want the token of the kubeconfig", got)
			}
		})
	}
	t.Run("another CA is refused", func(t *testing.T) {
		_, warnings, err := c.explain(t, "chat", "-n", "demo", "--manager-ca", c.State.CACert)
		if err == nil || !strings.Contains(warnings, "unknown authority") {
			t.Errorf("%v; wrote %s", err, warnings)
		}
	})
	t.Run("a manager that is gone is named", func(t *testing.T) {
		manager.Close()
		_, warnings, err := c.explain(t, "chat", "-n", "demo")
		if err == nil || !strings.Contains(warnings, "asking the manager") {
			t.Errorf("%v; wrote %s", err, warnings)
		}
	})
	t.Run("a node that is gone is named", func(t *testing.T) {
		node.CloseClientConnections()
		node.Close()
		_, warnings, err := c.explain(t, "chat", "-n", "demo")
		if err == nil || !strings.Contains(warnings, "forwarding a port to pod "+defaultSystemNamespace+"/manager-0") {
			t.Errorf("%v; wrote %s", err, warnings)
		}
	})
}

// on creates the node of the manager's pod, with its kubelet at a port here.
func (c cluster) on(t *testing.T, port int) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "localhost"}}
	if err := c.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	patch := `{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":` + strconv.Itoa(port) + `}}}}`
	if err := c.Client.Status().Patch(t.Context(), node, client.RawPatch("application/strategic-merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// serving is what a server needs that the API server is to trust.
func (c cluster) serving(t *testing.T, host string) *tls.Config {
	t.Helper()
	cert, key, err := c.Issue(host)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

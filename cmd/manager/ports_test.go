package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/access"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

func okay(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// ported returns the servers of both ports. The API server knows the token "metrics",
// whose user may do everything with an URL, and the token "tenant", whose user may get
// the VariantAutoscalings of the namespace team.
func ported(t *testing.T) map[string]*http.Server {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			var review authenticationv1.TokenReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			token := review.Spec.Token
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: token == "metrics" || token == "tenant", User: authenticationv1.UserInfo{Username: token}}
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		what := review.Spec.ResourceAttributes
		review.Status.Allowed = what == nil && review.Spec.User == "metrics" || what != nil && review.Spec.User == "tenant" && what.Namespace == "team"
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(api.Close)
	to := &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	who, err := access.New(to, api.Client(), testingclock.NewFakePassiveClock(time.Unix(1_000, 0)), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	debug := debugged{memory: ledger.New(), cycles: new(cycle.Last), history: history.New(history.Options{}), measure: http.HandlerFunc(okay)}
	alive := map[string]healthz.Checker{"healthz": healthz.Ping}
	return map[string]*http.Server{
		"metrics": metricsServer(http.HandlerFunc(okay), debug, who), "open": metricsServer(http.HandlerFunc(okay), debug, nil),
		"probes": probeServer(alive, alive),
	}
}

// serve serves until the test ends, and returns the address.
func serve(t *testing.T, server *http.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(throttle.Listen(l, connections)) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// status asks once and returns the status of the answer.
func status(server *http.Server, path, token string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	w := httptest.NewRecorder()
	server.Handler.ServeHTTP(w, r)
	return w.Code
}

func TestNoPortReadsMoreThan16KiBOfHeaders(t *testing.T) {
	for name, server := range ported(t) {
		address := serve(t, server)
		for size, fits := range map[int]bool{8 << 10: true, 64 << 10: false} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/none", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if read := resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge; read != fits {
				t.Errorf("%s: %d bytes of headers are answered with %d, want 431 beyond 16 KiB only", name, size, resp.StatusCode)
			}
		}
	}
}

func TestEveryPhaseOfARequestHasATimeLimit(t *testing.T) {
	for name, s := range ported(t) {
		for phase, limit := range map[string]time.Duration{"headers": s.ReadHeaderTimeout, "reading": s.ReadTimeout, "writing": s.WriteTimeout, "idle": s.IdleTimeout} {
			if limit <= 0 || limit > 2*time.Minute {
				t.Errorf("%s: %s may take %s", name, phase, limit)
			}
		}
	}
}

func TestOneAddressHoldsAtMostItsShareOfAPort(t *testing.T) {
	address := serve(t, ported(t)["metrics"])
	open := 0
	for range 2 * connections.PerAddress {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\n\r\n"); err != nil {
			continue
		}
		if n, _ := c.Read(make([]byte, 1)); n == 1 {
			open++
		}
	}
	if open != connections.PerAddress {
		t.Errorf("%d connections of one address are served, want %d", open, connections.PerAddress)
	}
}

// TestEveryPathOfTheMetricsPortIsGuarded: 503 is an answer of a process that has decided
// nothing.
func TestEveryPathOfTheMetricsPortIsGuarded(t *testing.T) {
	servers := ported(t)
	for _, tt := range []struct {
		path                           string
		open, without, metrics, tenant int
	}{
		{"/metrics", 200, 401, 200, 403},
		{"/debug/cache", 200, 401, 200, 403},
		{"/debug/decisions", 503, 401, 403, 403},
		{"/debug/decisions/team", 503, 401, 403, 503},
		{"/debug/decisions/team/chat", 503, 401, 403, 503},
		{"/debug/decisions/other/chat", 503, 401, 403, 403},
		{"/debug/decisions/team/chat/more", 404, 401, 404, 404},
		{"/debug/fleet", 503, 401, 403, 403},
		{"/debug/fleet/team", 503, 401, 403, 503},
		{"/debug/history/team?model=m", 503, 401, 403, 503},
		{"/debug/history/other?model=m", 503, 401, 403, 403},
		{"/debug/history/team/chat/cycle?cycle=c-1", 503, 401, 403, 503},
		{"/debug/replicas/team?model=m", 503, 401, 403, 503},
		{"/debug/replicas/other?model=m", 503, 401, 403, 403},
		{"/debug/history", 404, 401, 404, 404},
		{"/none", 404, 401, 404, 403},
	} {
		got := [4]int{
			status(servers["open"], tt.path, ""), status(servers["metrics"], tt.path, ""),
			status(servers["metrics"], tt.path, "Bearer metrics"), status(servers["metrics"], tt.path, "Bearer tenant"),
		}
		if want := [4]int{tt.open, tt.without, tt.metrics, tt.tenant}; got != want {
			t.Errorf("%s: %d on an open port, without a token, with that for metrics, with a tenant's; want %d", tt.path, got, want)
		}
	}
}

func TestProbesAreAnswered(t *testing.T) {
	server := ported(t)["probes"]
	for _, path := range []string{"/healthz", "/readyz", "/readyz/healthz"} {
		if got := status(server, path, ""); got != http.StatusOK {
			t.Errorf("%s is answered with %d, want 200", path, got)
		}
	}
}

func TestTheManagerServesBothPorts(t *testing.T) {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	o := &config.Operator{MetricsBindAddress: free(), MetricsSecure: true, HealthProbeBindAddress: free()}
	m, err := ctrl.NewManager(&rest.Config{Host: api.URL}, ctrl.Options{Metrics: metricsserver.Options{BindAddress: off}, HealthProbeBindAddress: off})
	if err != nil {
		t.Fatal(err)
	}
	if err := servePorts(m, o, map[string]healthz.Checker{"caches": healthz.Ping}, debugged{memory: ledger.New(), cycles: new(cycle.Last), history: history.New(history.Options{}), measure: http.HandlerFunc(okay)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for url, want := range map[string]int{"http://" + o.HealthProbeBindAddress + "/healthz": http.StatusOK, "https://" + o.MetricsBindAddress + "/metrics": http.StatusUnauthorized} {
		resp, err := client.Get(url)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", url, resp.StatusCode, want)
		}
	}
	client.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Start: %v", err)
	}
}

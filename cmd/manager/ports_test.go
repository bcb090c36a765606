package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

func okay(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// ported returns the servers of both ports, the guard refusing whoever has no token.
func ported(t *testing.T) map[string]*http.Server {
	t.Helper()
	metrics, err := metricsServer(http.HandlerFunc(okay), debugHandlers(http.HandlerFunc(okay), http.HandlerFunc(okay)), func(next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				http.Error(w, "Unauthorized", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}, testingclock.NewFakePassiveClock(time.Unix(1_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	alive := map[string]healthz.Checker{"healthz": healthz.Ping}
	return map[string]*http.Server{"metrics": metrics, "probes": probeServer(alive, alive)}
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
		for size, want := range map[int]int{8 << 10: http.StatusNotFound, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
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
			if resp.StatusCode != want {
				t.Errorf("%s: %d bytes of headers are answered with %d, want %d", name, size, resp.StatusCode, want)
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
		if _, err := io.WriteString(c, "GET /none HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\n\r\n"); err != nil {
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

func TestEveryPathOfTheMetricsPortIsGuarded(t *testing.T) {
	server := ported(t)["metrics"]
	for _, path := range []string{"/metrics", "/debug/decisions", "/debug/decisions/team/chat", "/debug/cache"} {
		if without, with := status(server, path, ""), status(server, path, "Bearer x"); without != http.StatusUnauthorized || with != http.StatusOK {
			t.Errorf("%s: %d without a token, %d with one; want 401 and 200", path, without, with)
		}
	}
	plain, err := metricsServer(http.HandlerFunc(okay), nil, nil, testingclock.NewFakePassiveClock(time.Unix(1_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if got := status(plain, "/metrics", ""); got != http.StatusOK {
		t.Errorf("a port that is not to be secure answers %d, want 200", got)
	}
}

func TestAnAddressThatIsRefusedTooOftenIsNotReviewed(t *testing.T) {
	server := ported(t)["metrics"]
	got := map[int]int{}
	for range 100 {
		got[status(server, "/metrics", "")]++
	}
	if want := map[int]int{http.StatusUnauthorized: refusedAtOnce, http.StatusTooManyRequests: 100 - refusedAtOnce}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("100 requests without a token are answered %v, want %v", got, want)
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
	if err := servePorts(m, o, map[string]healthz.Checker{"caches": healthz.Ping}, nil); err != nil {
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

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pagesOnly is a cluster that knows where pages are.
type pagesOnly struct {
	fleet    scaling.Fleet
	pickers  []discovery.MetricsEndpoint
	selector string // that pickers were asked by last
}

func (p *pagesOnly) Fleet(context.Context, time.Time) (scaling.Fleet, error) { return p.fleet, nil }

func (p *pagesOnly) Pickers(_ context.Context, selector labels.Selector) ([]discovery.MetricsEndpoint, error) {
	p.selector = selector.String()
	return p.pickers, nil
}

func around(c cluster) surroundings {
	return surroundings{log: logr.Discard(), cluster: c, observe: func(time.Duration, error) {}}
}

func TestEveryBackendOfTheConfigurationIsBuilt(t *testing.T) {
	if len(backends()) != len(config.Backends()) {
		t.Errorf("%d factories for %q", len(backends()), config.Backends())
	}
	for _, name := range config.Backends() {
		got, err := newBackend(backends(), around(&pagesOnly{}), parsed(t, "--collector-backend="+name))
		if err != nil || got.source == nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if scrapes := got.run != nil; scrapes != (name != config.BackendPrometheus) {
			t.Errorf("%s: has something running: %v", name, scrapes)
		}
	}
}

func TestABackendWithoutAFactoryIsRefused(t *testing.T) {
	o := parsed(t)
	o.Collector.Backend = "influx"
	_, err := newBackend(map[string]factory{"b": nil, "a": nil}, around(&pagesOnly{}), o)
	got, ok := errors.AsType[*config.FieldError](err)
	if !ok || *got != (config.FieldError{Key: "COLLECTOR_BACKEND", Value: "influx", Want: "one of a, b"}) {
		t.Errorf("error %v", err)
	}
}

// TestPodsAreReadAndOnlyPickersAreTrusted serves the pages of a pod and of an
// endpoint picker and looks at who asked for them.
func TestPodsAreReadAndOnlyPickersAreTrusted(t *testing.T) {
	var (
		mu     sync.Mutex
		tokens = map[string]string{}
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tokens[r.URL.Path] = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "vllm:num_requests_running{model_name=\"m\"} 3\n")
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	key := scaling.VariantKey{Namespace: "n", Name: "v"}
	pages := &pagesOnly{
		fleet: scaling.Fleet{
			Variants: []scaling.Variant{{Key: key, Model: scaling.ModelKey{Namespace: "n", ID: "m"}}},
			Pods:     []scaling.Pod{{Namespace: "n", Name: "pod", Variant: key, Ready: true, MetricsURL: server.URL + "/pod"}},
		},
		pickers: []discovery.MetricsEndpoint{{Namespace: "n", Pod: "epp", URL: "http://" + address.Hostname() + ":1/epp"}},
	}
	o := parsed(t, "--collector-backend=pods", "--scrape-interval=1s", "--epp-selector=app=epp", "--epp-port="+address.Port(), "--epp-token-path="+token)
	built, err := newBackend(backends(), around(pages), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	done := make(chan error, 1)
	go func() { done <- built.run.Start(ctx) }()
	answer, err := built.source.Ask(ctx, query.Request{Ask: query.AskRunning, Window: time.Minute})
	cancel()
	if ended := <-done; ended != nil || err != nil {
		t.Fatalf("running: %v; asking: %v", ended, err)
	}
	if !slices.ContainsFunc(answer.Rows, func(r query.Row) bool { return r.Pod == "pod" && r.Model == "m" && r.Value == 3 }) {
		t.Errorf("rows %+v, want 3 running requests of the pod", answer.Rows)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]string{"/pod": "", "/epp": "Bearer hunter2"}, tokens); diff != "" {
		t.Errorf("tokens by page (-want +got):\n%s", diff)
	}
	if pages.selector != "app=epp" {
		t.Errorf("pickers are looked for by %q", pages.selector)
	}
}

func TestAPortMovesPages(t *testing.T) {
	for _, tt := range []struct {
		port     int
		page, to string
	}{
		{0, "http://10.0.0.1:9002/metrics", "http://10.0.0.1:9002/metrics"},
		{9090, "http://10.0.0.1:9002/metrics", "http://10.0.0.1:9090/metrics"},
		{9090, "https://[fd00::1]:9002/metrics", "https://[fd00::1]:9090/metrics"},
	} {
		if got := at(tt.port, []scrape.Target{{URL: tt.page}})[0].URL; got != tt.to {
			t.Errorf("%s to port %d: got %s, want %s", tt.page, tt.port, got, tt.to)
		}
	}
}

func TestATokenFileThatIsGoneIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	err := bearer("", missing)(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that %s does not exist", err, missing)
	}
	if bearer("", "") != nil {
		t.Error("credentials are added where there are none")
	}
}

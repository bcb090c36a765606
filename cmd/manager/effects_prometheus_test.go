package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// visit is what a Prometheus saw of a collection, nil for none: of its last query,
// and the text of every query, which come in any order.
type visit struct {
	URL, Authorization, Tenant, Queries string
	Certificates                        int // that the client showed
}

// oracle is a Prometheus that knows nothing and remembers who asked.
type oracle struct {
	*httptest.Server
	mu   sync.Mutex
	last *visit
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	o := &oracle{}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		var earlier string
		if o.last != nil {
			earlier = o.last.Queries
		}
		o.last = &visit{
			URL: "https://" + r.Host, Authorization: r.Header.Get("Authorization"), Tenant: r.Header.Get("X-Scope-OrgID"),
			Certificates: len(r.TLS.PeerCertificates), Queries: earlier + r.FormValue("query") + "\n",
		}
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	o.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	o.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	o.StartTLS()
	t.Cleanup(o.Close)
	return o
}

// files are what the settings name.
type files struct{ authority, certificate, key, token string }

func (o *oracle) files(t *testing.T) files {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(dir, name)
		if kind != "" {
			content = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(o.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return files{
		authority:   write("ca.crt", "CERTIFICATE", o.Certificate().Raw),
		certificate: write("tls.crt", "CERTIFICATE", o.Certificate().Raw),
		key:         write("tls.key", "PRIVATE KEY", key),
		token:       write("token", "", []byte("of-a-file")),
	}
}

const skipVerify = "PROMETHEUS_TLS_INSECURE_SKIP_VERIFY"

// prometheusEffects are what the keys of Prometheus change, beside what stands in
// the ConfigMap already.
var prometheusEffects = []struct {
	key           string
	already, more func(f files, second string) []string
	see           func(v *visit) any
	before, after any
}{
	{"PROMETHEUS_BASE_URL", unverified, pairs("PROMETHEUS_BASE_URL", func(_ files, second string) string { return second }), reached, true, false},
	{skipVerify, nil, fixed(skipVerify, "true"), reached, false, true},
	{"PROMETHEUS_CA_CERT_PATH", nil, authority, reached, false, true},
	{"PROMETHEUS_SERVER_NAME", authority, fixed("PROMETHEUS_SERVER_NAME", "elsewhere.test"), reached, true, false},
	{"PROMETHEUS_CLIENT_CERT_PATH", unverified, showsItself, shown, 0, 1},
	{"PROMETHEUS_CLIENT_KEY_PATH", unverified, showsItself, shown, 0, 1},
	{"PROMETHEUS_BEARER_TOKEN", unverified, fixed("PROMETHEUS_BEARER_TOKEN", "secret"), authorization, "", "Bearer secret"},
	{"PROMETHEUS_TOKEN_PATH", unverified, pairs("PROMETHEUS_TOKEN_PATH", func(f files, _ string) string { return f.token }), authorization, "", "Bearer of-a-file"},
	{"PROMETHEUS_USERNAME", unverified, fixed("PROMETHEUS_USERNAME", "u", "PROMETHEUS_PASSWORD", "p"), authorization, "", "Basic dTpw"},
	{"PROMETHEUS_PASSWORD", fixed(skipVerify, "true", "PROMETHEUS_USERNAME", "u"), fixed("PROMETHEUS_PASSWORD", "p"), authorization, "Basic dTo=", "Basic dTpw"},
	{"PROMETHEUS_HEADERS", unverified, fixed("PROMETHEUS_HEADERS", "X-Scope-OrgID=team"), func(v *visit) any { return v.Tenant }, "", "team"},
	{"PROMETHEUS_METRIC_PREFIXES", unverified, fixed("PROMETHEUS_METRIC_PREFIXES", "vllm:,acme_vllm:"), func(v *visit) any {
		return strings.Contains(v.Queries, "acme_vllm:")
	}, false, true},
}

func fixed(content ...string) func(files, string) []string {
	return func(files, string) []string { return content }
}

func pairs(key string, value func(f files, second string) string) func(files, string) []string {
	return func(f files, second string) []string { return []string{key, value(f, second)} }
}

func unverified(files, string) []string { return []string{skipVerify, "true"} }

func authority(f files, _ string) []string { return []string{"PROMETHEUS_CA_CERT_PATH", f.authority} }

func showsItself(f files, _ string) []string {
	return []string{"PROMETHEUS_CLIENT_CERT_PATH", f.certificate, "PROMETHEUS_CLIENT_KEY_PATH", f.key}
}

func reached(v *visit) any       { return v != nil }
func shown(v *visit) any         { return v.Certificates }
func authorization(v *visit) any { return v.Authorization }

// seenBy has the lab measure and returns what the oracle saw.
func (o *oracle) seenBy(t *testing.T, l *lab) *visit {
	t.Helper()
	o.mu.Lock()
	o.last = nil
	o.mu.Unlock()
	l.meter.parts().store.Invalidate("")
	l.meter.Collect(t.Context(), l.fleet)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func TestAKeyOfPrometheusChangesHowItIsAsked(t *testing.T) {
	first, second := newOracle(t), newOracle(t)
	f := first.files(t)
	for _, tt := range prometheusEffects {
		t.Run(tt.key, func(t *testing.T) {
			already := []string{"PROMETHEUS_BASE_URL", first.URL}
			if tt.already != nil {
				already = append(already, tt.already(f, second.URL)...)
			}
			l := newLab(t, start{from: newPrometheus, settings: already}, "--prometheus-timeout=300ms", "--prometheus-budget=1s", "--prometheus-base-url=")
			for _, found := range l.configure(config.KindSettings, already...) {
				t.Error(found)
			}
			if diff := cmp.Diff(tt.before, tt.see(first.seenBy(t, l))); diff != "" {
				t.Errorf("before (-want +got):\n%s", diff)
			}
			for _, found := range l.configure(config.KindSettings, append(already, tt.more(f, second.URL)...)...) {
				t.Error(found)
			}
			if diff := cmp.Diff(tt.after, tt.see(first.seenBy(t, l))); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			for _, found := range l.configure(config.KindSettings, already...) {
				t.Error(found)
			}
			if diff := cmp.Diff(tt.before, tt.see(first.seenBy(t, l))); diff != "" {
				t.Errorf("without it again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASettingThatCannotBeUsedLeavesTheRestInForce(t *testing.T) {
	o := newOracle(t)
	good := []string{"PROMETHEUS_BASE_URL", o.URL, skipVerify, "true"}
	l := newLab(t, start{from: newPrometheus, settings: good}, "--prometheus-base-url=")
	l.configure(config.KindSettings, good...)
	bad := slices.Concat([]string{"LOG_LEVEL", "debug"}, good[:2], []string{skipVerify, "false", "PROMETHEUS_CA_CERT_PATH", os.DevNull})
	found := l.configure(config.KindSettings, bad...)
	if len(found) != 1 || found[0].Key != "PROMETHEUS_CA_CERT_PATH" || found[0].Value != os.DevNull {
		t.Errorf("findings %v", found)
	}
	if l.level.String() != "debug" {
		t.Errorf("the level is %s, want that beside the setting that cannot be used", l.level)
	}
	if o.seenBy(t, l) == nil {
		t.Error("Prometheus is no longer asked as before")
	}
}

func TestABackendThatCannotBeBuiltIsNotInForce(t *testing.T) {
	broken := errors.New("no such host")
	build := func(_ surroundings, o *config.Operator) (backend, error) {
		if o.Prometheus.BaseURL == "https://broken" {
			return backend{}, broken
		}
		return backend{source: collectortest.New(clock.RealClock{}.Now())}, nil
	}
	l := newLab(t, start{from: build, settings: []string{"PROMETHEUS_BASE_URL", "https://good"}}, "--prometheus-base-url=")
	source := l.meter.parts().from.source
	found := l.configure(config.KindSettings, "PROMETHEUS_BASE_URL", "https://broken", "GLOBAL_OPT_INTERVAL", "30s")
	if len(found) != 1 || !strings.Contains(found[0].String(), "cannot be put into force: no such host") {
		t.Errorf("findings %v", found)
	}
	if o := l.now(); o.Prometheus.BaseURL != "https://good" || o.Interval != 30*time.Second || l.meter.parts().from.source != source {
		t.Errorf("in force: %s every %s; the source is another: %t", o.Prometheus.BaseURL, o.Interval, l.meter.parts().from.source != source)
	}
	if _, _, err := firstBackend(l.meter.backends, l.meter.surroundings, []*config.Operator{{
		Collector: config.Collector{Backend: config.BackendPrometheus}, Prometheus: config.Prometheus{BaseURL: "https://broken"},
	}}); !errors.Is(err, broken) {
		t.Errorf("a start with nothing else: %v", err)
	}
}

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTheDefaultsAreThosePublished holds the defaults to the collector's
// published documentation and to contract section 2.
func TestTheDefaultsAreThosePublished(t *testing.T) {
	o, err := parse(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Cache{
		Enabled: true, Mode: CacheFixed, TTL: 30 * time.Second, CleanupInterval: 5 * time.Minute, MaxEntries: 10_000,
		FetchInterval: 15 * time.Second, FreshThreshold: time.Minute, UnavailableThreshold: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, o.Collector.Cache); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
	if o.Collector.Backend != BackendPrometheus || o.Executor != ExecutorHybrid || !o.Collector.Cache.Background() {
		t.Errorf("backend %s, executor %s, background fetching %v", o.Collector.Backend, o.Executor, o.Collector.Cache.Background())
	}
	if warnings := o.Warnings(); len(warnings) > 0 {
		t.Errorf("the defaults warn: %q", warnings)
	}
}

func TestARefusalNamesFieldValueAndRange(t *testing.T) {
	const cache = "PROMETHEUS_METRICS_CACHE_"
	noCertificate := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noCertificate, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing, pods := filepath.Join(t.TempDir(), "missing.pem"), []string{"--collector-backend=pods"}
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want FieldError
	}{
		{"unknown backend", map[string]string{"COLLECTOR_BACKEND": "influx"}, nil, FieldError{"COLLECTOR_BACKEND", "influx", "one of prometheus, pods, epp"}},
		{"unknown executor", nil, []string{"--executor=eager"}, FieldError{"WVA_EXECUTOR", "eager", "one of hybrid, polling, reactive"}},
		{"unknown cache mode", map[string]string{cache + "MODE": "clever"}, nil, FieldError{cache + "MODE", "clever", "one of fixed, interval, adaptive"}},
		{"negative TTL", map[string]string{cache + "TTL": "-30s"}, nil, FieldError{cache + "TTL", "-30s", "a duration from 1s to 5m"}},
		{"TTL of zero", map[string]string{cache + "TTL": "0"}, nil, FieldError{cache + "TTL", "0s", "a duration from 1s to 5m"}},
		{
			"TTL above the staleness limit",
			map[string]string{cache + "TTL": "4m", cache + "UNAVAILABLE_THRESHOLD": "3m"},
			nil,
			FieldError{cache + "TTL", "4m0s", "a duration from 1s to 3m"},
		},
		{
			"fetch interval above the staleness limit",
			map[string]string{cache + "FETCH_INTERVAL": "6m"},
			nil,
			FieldError{cache + "FETCH_INTERVAL", "6m0s", "a duration from 1s to 5m (PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD), or 0 for off"},
		},
		{
			"negative fetch interval",
			nil,
			[]string{"--prometheus-metrics-cache-fetch-interval=-1s"},
			FieldError{cache + "FETCH_INTERVAL", "-1s", "a duration from 1s to 5m (PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD), or 0 for off"},
		},
		{"no clean-up", map[string]string{cache + "CLEANUP_INTERVAL": "0s"}, nil, FieldError{cache + "CLEANUP_INTERVAL", "0s", "a duration from 1s to 24h"}},
		{"no room", map[string]string{cache + "MAX_ENTRIES": "0"}, nil, FieldError{cache + "MAX_ENTRIES", "0", "a whole number from 1 to 1000000"}},
		{"half a model", map[string]string{cache + "MAX_ENTRIES": "0.5"}, nil, FieldError{cache + "MAX_ENTRIES", "0.5", "a whole number"}},
		{"fresh for a day", map[string]string{cache + "FRESH_THRESHOLD": "24h"}, nil, FieldError{cache + "FRESH_THRESHOLD", "24h0m0s", "a duration from 1s to 1h"}},
		{
			"stale before it stops being fresh",
			map[string]string{cache + "UNAVAILABLE_THRESHOLD": "30s"},
			nil,
			FieldError{cache + "UNAVAILABLE_THRESHOLD", "30s", "a duration from 1m to 1h"},
		},
		{"threshold without effect, negative", map[string]string{cache + "STALE_THRESHOLD": "-1m"}, nil, FieldError{cache + "STALE_THRESHOLD", "-1m0s", "a duration, which has no effect"}},
		{"threshold without effect, no duration", map[string]string{cache + "STALE_THRESHOLD": "old"}, nil, FieldError{cache + "STALE_THRESHOLD", "old", "a duration with its unit, such as 30s or 5m"}},
		{"scrape interval", map[string]string{"SCRAPE_INTERVAL": "2m"}, nil, FieldError{"SCRAPE_INTERVAL", "2m0s", "a duration from 1s to 1m"}},
		{"no picker to ask", nil, []string{"--collector-backend=epp", "--epp-selector="}, FieldError{"EPP_SELECTOR", "", "a label selector with COLLECTOR_BACKEND=epp"}},
		{
			"no selector",
			map[string]string{"EPP_SELECTOR": "a in b"},
			nil,
			FieldError{"EPP_SELECTOR", "a in b", "a label selector, such as app=epp"},
		},
		{"port", map[string]string{"EPP_PORT": "70000"}, nil, FieldError{"EPP_PORT", "70000", "a whole number from 0 to 65535"}},
		{"query timeout", map[string]string{"PROMETHEUS_TIMEOUT": "0s"}, nil, FieldError{"PROMETHEUS_TIMEOUT", "0s", "a positive duration"}},
		{"retries", map[string]string{"PROMETHEUS_RETRIES": "11"}, nil, FieldError{"PROMETHEUS_RETRIES", "11", "a whole number from 0 to 10"}},
		{"fewer retries than none", map[string]string{"PROMETHEUS_RETRIES": "-1"}, nil, FieldError{"PROMETHEUS_RETRIES", "-1", "a whole number from 0 to 10"}},
		{"authorities of pages that are no certificate", map[string]string{"SCRAPE_CA_CERT_PATH": noCertificate}, pods, FieldError{"SCRAPE_CA_CERT_PATH", noCertificate, "a PEM file with one certificate or more"}},
		{"authorities of pages that are missing", map[string]string{"SCRAPE_CA_CERT_PATH": missing}, pods, FieldError{"SCRAPE_CA_CERT_PATH", missing, "a file that can be read"}},
		{"client key of pages that is missing", map[string]string{"SCRAPE_CLIENT_CERT_PATH": noCertificate, "SCRAPE_CLIENT_KEY_PATH": missing}, pods, FieldError{"SCRAPE_CLIENT_KEY_PATH", missing, "a file that can be read"}},
		{"client certificate of pages without a key", map[string]string{"SCRAPE_CLIENT_CERT_PATH": noCertificate}, pods, FieldError{"SCRAPE_CLIENT_KEY_PATH", "", "a file, with SCRAPE_CLIENT_CERT_PATH"}},
		{"client key of pages without a certificate", map[string]string{"SCRAPE_CLIENT_KEY_PATH": noCertificate}, pods, FieldError{"SCRAPE_CLIENT_CERT_PATH", "", "a file, with SCRAPE_CLIENT_KEY_PATH"}},
		{"client certificate of pages that is none", map[string]string{"SCRAPE_CLIENT_CERT_PATH": noCertificate, "SCRAPE_CLIENT_KEY_PATH": noCertificate}, pods, FieldError{"SCRAPE_CLIENT_CERT_PATH", noCertificate, "a PEM certificate of the key in " + noCertificate}},
		{"budget", map[string]string{"PROMETHEUS_BUDGET": "1h"}, nil, FieldError{"PROMETHEUS_BUDGET", "1h0m0s", "a duration from 1s to 10m"}},
		{"response size", map[string]string{"PROMETHEUS_MAX_RESPONSE_BYTES": "10"}, nil, FieldError{"PROMETHEUS_MAX_RESPONSE_BYTES", "10", "a whole number from 65536 to 1073741824"}},
		{"CA file that is no certificate", map[string]string{"PROMETHEUS_CA_CERT_PATH": noCertificate}, nil, FieldError{"PROMETHEUS_CA_CERT_PATH", noCertificate, "a PEM file with one certificate or more"}},
		{
			"reactive without a cache",
			map[string]string{"WVA_EXECUTOR": "reactive", cache + "ENABLED": "false"},
			nil,
			FieldError{cache + "ENABLED", "false", "true with WVA_EXECUTOR=reactive, which learns from background fetching that load has changed"},
		},
		{
			"reactive without background fetching",
			map[string]string{"WVA_EXECUTOR": "reactive", cache + "FETCH_INTERVAL": "0"},
			nil,
			FieldError{cache + "FETCH_INTERVAL", "0s", "a duration from 1s to 5m with WVA_EXECUTOR=reactive, which learns from background fetching that load has changed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.env, tt.args...)
			got, ok := errors.AsType[*FieldError](err)
			if !ok {
				t.Fatalf("error %v, want a FieldError", err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyTheBackendThatAsksPrometheusNeedsIt(t *testing.T) {
	none := map[string]string{"PROMETHEUS_BASE_URL": "", "PROMETHEUS_CA_CERT_PATH": os.DevNull}
	for _, backend := range []string{BackendPods, BackendEPP} {
		if err := complete(t, none, "--collector-backend="+backend); err != nil {
			t.Errorf("%s: %v", backend, err)
		}
	}
	if err := complete(t, none); err == nil || !strings.HasPrefix(err.Error(), "no Prometheus configuration found") {
		t.Errorf("prometheus: %v without a URL", err)
	}
	inConfigMap := system(settingsMap, "PROMETHEUS_BASE_URL", prometheusURL)
	if err := complete(t, map[string]string{"PROMETHEUS_BASE_URL": ""}, inConfigMap); err != nil {
		t.Errorf("with a URL in a ConfigMap: %v", err)
	}
}

// complete says why a manager could not run with these arguments (text) and
// ConfigMaps (Source), nil if it could.
func complete(t *testing.T, env map[string]string, given ...any) error {
	t.Helper()
	var args []string
	var all []Source
	for _, g := range given {
		switch g := g.(type) {
		case string:
			args = append(args, g)
		case Source:
			all = append(all, g)
		}
	}
	o, err := parse(t, env, append(args, "--pod-namespace="+systemNamespace)...)
	if err != nil {
		return err
	}
	store, err := o.NewStore()
	if err != nil {
		return err
	}
	store.Apply(all)
	_, err = o.With(store.Snapshot().Settings())
	return err
}

// TestACAFileThatIsNotReadIsNotChecked: a missing one is named by the backend
// that needs it.
func TestACAFileThatIsNotReadIsNotChecked(t *testing.T) {
	for _, env := range []map[string]string{
		{"PROMETHEUS_CA_CERT_PATH": os.DevNull, "PROMETHEUS_TLS_INSECURE_SKIP_VERIFY": "true"},
		{"PROMETHEUS_CA_CERT_PATH": filepath.Join(t.TempDir(), "missing")},
	} {
		if _, err := parse(t, env); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}

func TestBackgroundFetchingNeedsACacheAndAnInterval(t *testing.T) {
	for _, c := range []struct {
		cache Cache
		want  bool
	}{
		{Cache{Enabled: true, FetchInterval: time.Second}, true},
		{Cache{Enabled: false, FetchInterval: time.Second}, false},
		{Cache{Enabled: true}, false},
	} {
		if got := c.cache.Background(); got != c.want {
			t.Errorf("%+v: got %v", c.cache, got)
		}
	}
}

func TestWhatDoesNotDoWhatOneMightThinkIsWarnedOf(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want []string // a part of each warning
	}{
		{"a threshold without effect", map[string]string{"PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD": "2m"}, []string{"PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD=2m has no effect"}},
		{"fetches further apart than the TTL", map[string]string{"PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL": "1m"}, []string{"PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL=1m is longer than PROMETHEUS_METRICS_CACHE_TTL=30s"}},
		{"they do not matter without a cache", map[string]string{"PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL": "1m", "PROMETHEUS_METRICS_CACHE_ENABLED": "false"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parse(t, tt.env)
			if err != nil {
				t.Fatal(err)
			}
			got := o.Warnings()
			if len(got) != len(tt.want) {
				t.Fatalf("warnings %q, want %d", got, len(tt.want))
			}
			for i, part := range tt.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("warning %q does not say %q", got[i], part)
				}
			}
		})
	}
}

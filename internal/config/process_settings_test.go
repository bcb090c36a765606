package config

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/version"
)

const prometheusURL = "https://prometheus.example"

func parse(t *testing.T, env map[string]string, args ...string) (*Operator, error) {
	t.Helper()
	all := map[string]string{"PROMETHEUS_BASE_URL": prometheusURL}
	maps.Copy(all, env)
	return Parse(args, func(key string) (string, bool) { v, ok := all[key]; return v, ok }, io.Discard)
}

func TestAFlagWinsOverItsTwinAndTheTwinOverTheDefault(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want time.Duration
	}{
		{"default", nil, nil, time.Minute},
		{"environment", map[string]string{"GLOBAL_OPT_INTERVAL": "15s"}, nil, 15 * time.Second},
		{"an empty variable is none", map[string]string{"GLOBAL_OPT_INTERVAL": ""}, nil, time.Minute},
		{"flag", map[string]string{"GLOBAL_OPT_INTERVAL": "15s"}, []string{"--global-opt-interval=5s"}, 5 * time.Second},
		{"a flag that repeats the default wins too", map[string]string{"GLOBAL_OPT_INTERVAL": "15s"}, []string{"--global-opt-interval=60s"}, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parse(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if o.Interval != tt.want {
				t.Errorf("interval %s, want %s", o.Interval, tt.want)
			}
		})
	}
}

func TestEveryPublishedNameIsRead(t *testing.T) {
	env := map[string]string{
		"METRICS_BIND_ADDRESS": ":8443", "METRICS_SECURE": "false", "METRICS_CERT_PATH": "/certs", "METRICS_CERT_NAME": "c", "METRICS_CERT_KEY": "k",
		"ENABLE_HTTP2": "true", "HEALTH_PROBE_BIND_ADDRESS": ":1", "LEADER_ELECT": "true", "LEADER_ELECTION_ID": "id",
		"LEADER_ELECTION_LEASE_DURATION": "30s", "LEADER_ELECTION_RENEW_DEADLINE": "20s", "LEADER_ELECTION_RETRY_PERIOD": "5s", "REST_CLIENT_TIMEOUT": "9s",
		"GLOBAL_OPT_INTERVAL": "30s", "WATCH_NAMESPACE": "w", "POD_NAMESPACE": "p", "CONTROLLER_INSTANCE": "c", "LOG_LEVEL": "debug",
		"CONFIG_MAP_NAME": "settings", "SATURATION_CONFIG_MAP_NAME": "thresholds",
		"EXTERNAL_METRICS_BIND_ADDRESS": ":6443", "EXTERNAL_METRICS_CERT_PATH": "/ext",
		"EXTERNAL_SCALER_BIND_ADDRESS": ":9443", "EXTERNAL_SCALER_CERT_PATH": "/sc", "EXTERNAL_SCALER_CLIENT_CA_PATH": "/sca/ca.crt",
		"ALLOW_INSECURE_PROMETHEUS": "true", "PROMETHEUS_CA_CERT_PATH": "ca", "PROMETHEUS_CLIENT_CERT_PATH": "cc", "PROMETHEUS_CLIENT_KEY_PATH": "ck",
		"PROMETHEUS_SERVER_NAME": "sn", "PROMETHEUS_TLS_INSECURE_SKIP_VERIFY": "true", "PROMETHEUS_BEARER_TOKEN": "bt", "PROMETHEUS_TOKEN_PATH": "tp",
		"PROMETHEUS_USERNAME": "u", "PROMETHEUS_PASSWORD": "pw", "PROMETHEUS_HEADERS": "X-Scope-OrgID=a, B=c=d", "PROMETHEUS_METRIC_PREFIXES": "a_,b:", "PROMETHEUS_TIMEOUT": "3s", "PROMETHEUS_RETRIES": "4",
		"PROMETHEUS_BUDGET": "9s", "PROMETHEUS_PROXY_URL": "pu", "PROMETHEUS_MAX_RESPONSE_BYTES": "1000000",
		"WVA_EXECUTOR": "reactive", "COLLECTOR_BACKEND": "pods", "SCRAPE_INTERVAL": "2s",
		"RECORD_FILE": "rf", "RECORD_MAX_BYTES": "2000000", "WVA_STORE": "false",
		"WVA_NAMESPACE_VARIANTS": "7", "WVA_NAMESPACE_OBJECT_BYTES": "70000", "WVA_NAMESPACE_BATCH_SIZES": "5000",
		"WVA_NAMESPACE_PAGE_BYTES": "2000000", "WVA_NAMESPACE_SERIES": "1001", "WVA_NAMESPACE_FINDINGS": "3", "WVA_NAMESPACE_EVENTS": "11",
		"EPP_SELECTOR": "app=epp", "EPP_PORT": "9091", "EPP_BEARER_TOKEN": "et", "EPP_TOKEN_PATH": "ep",
		"SCRAPE_CA_CERT_PATH": "sa", "SCRAPE_CLIENT_CERT_PATH": "sc", "SCRAPE_CLIENT_KEY_PATH": "sk", "SCRAPE_SERVER_NAME": "ss", "SCRAPE_TLS_INSECURE_SKIP_VERIFY": "true",
		"PROMETHEUS_METRICS_CACHE_ENABLED": "true", "PROMETHEUS_METRICS_CACHE_MODE": "adaptive", "PROMETHEUS_METRICS_CACHE_TTL": "20s",
		"PROMETHEUS_METRICS_CACHE_CLEANUP_INTERVAL": "1m", "PROMETHEUS_METRICS_CACHE_MAX_ENTRIES": "9", "PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL": "7s",
		"PROMETHEUS_METRICS_CACHE_FRESH_THRESHOLD": "40s", "PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD": "2m", "PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD": "4m",
	}
	got, err := parse(t, env)
	if err != nil {
		t.Fatal(err)
	}
	want := &Operator{
		MetricsBindAddress: ":8443", MetricsCertPath: "/certs", MetricsCertName: "c", MetricsCertKey: "k", EnableHTTP2: true, HealthProbeBindAddress: ":1",
		LeaderElect: true, LeaderElectionID: "id", LeaseDuration: 30 * time.Second, LeaseRenewDeadline: 20 * time.Second, LeaseRetryPeriod: 5 * time.Second,
		RESTClientTimeout: 9 * time.Second, Interval: 30 * time.Second, Executor: "reactive", WatchNamespace: "w", SystemNamespace: "p", ControllerInstance: "c", LogLevel: "debug",
		ConfigMapName: "settings", SaturationConfigMapName: "thresholds",
		ExternalMetricsBindAddress: ":6443", ExternalMetricsCertPath: "/ext",
		ExternalScaler: ExternalScaler{BindAddress: ":9443", CertPath: "/sc", ClientCAPath: "/sca/ca.crt"},
		Prometheus: Prometheus{
			BaseURL: prometheusURL, AllowInsecure: true, CACertPath: "ca", ClientCertPath: "cc", ClientKeyPath: "ck", ServerName: "sn", InsecureSkipVerify: true,
			BearerToken: "bt", TokenPath: "tp", Username: "u", Password: "pw", Headers: map[string]string{"X-Scope-OrgID": "a", "B": "c=d"}, MetricPrefixes: query.Prefixes{"a_", "b:"}, Timeout: 3 * time.Second,
			Retries: 4, Budget: 9 * time.Second, ProxyURL: "pu", MaxResponseBytes: 1_000_000,
		},
		Collector: Collector{
			Backend: "pods",
			Cache: Cache{
				Enabled: true, Mode: "adaptive", TTL: 20 * time.Second, CleanupInterval: time.Minute, MaxEntries: 9, FetchInterval: 7 * time.Second,
				FreshThreshold: 40 * time.Second, UnavailableThreshold: 4 * time.Minute, StaleThreshold: 2 * time.Minute,
			},
			Scrape: Scrape{
				Interval: 2 * time.Second, PickerSelector: "app=epp", PickerPort: 9091, PickerToken: "et", PickerTokenPath: "ep",
				CACertPath: "sa", ClientCertPath: "sc", ClientKeyPath: "sk", ServerName: "ss", InsecureSkipVerify: true,
			},
		},
		Recording: Recording{File: "rf", MaxBytes: 2_000_000},
		Budget: Budget{budget.Limits{
			Variants: 7, ObjectBytes: 70_000, BatchSizes: 5000, PageBytes: 2_000_000, Series: 1001, Findings: 3, Events: 11,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Operator{}, "Explicit")); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestWhatIsInvalidIsRefusedWithWhatIsAccepted(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want []string // parts of the message
	}{
		{"interval below the least", map[string]string{"GLOBAL_OPT_INTERVAL": "500ms"}, nil, []string{"GLOBAL_OPT_INTERVAL", `"500ms"`, "1s to 1h"}},
		{"interval above the most", nil, []string{"--global-opt-interval=2h"}, []string{"GLOBAL_OPT_INTERVAL", `"2h0m0s"`, "1s to 1h"}},
		{"no duration", map[string]string{"GLOBAL_OPT_INTERVAL": "soon"}, nil, []string{"GLOBAL_OPT_INTERVAL", `"soon"`}},
		{"unknown level", map[string]string{"LOG_LEVEL": "loud"}, nil, []string{"LOG_LEVEL", `"loud"`, "debug, info, warn, error"}},
		{"header that holds a secret", map[string]string{"PROMETHEUS_HEADERS": "Authorization: Bearer swordfish"}, nil, []string{"PROMETHEUS_HEADERS", "(hidden)", "Name=value"}},
		{"header without a value", map[string]string{"PROMETHEUS_HEADERS": "X"}, nil, []string{"PROMETHEUS_HEADERS", "Name=value"}},
		{"a flag that is no duration", nil, []string{"--global-opt-interval=soon"}, []string{"global-opt-interval", `"soon"`, "want a duration with its unit"}},
		{"a flag that is no number", nil, []string{"--epp-port=few"}, []string{"epp-port", `"few"`, "want a whole number"}},
		{"unknown flag", nil, []string{"--nonsense"}, []string{"nonsense"}},
		{"stray argument", nil, []string{"stray"}, []string{`"stray"`}},
		{"an external scaler without clients", nil, []string{"--external-scaler-bind-address=:9443"}, []string{"EXTERNAL_SCALER_CLIENT_CA_PATH", "EXTERNAL_SCALER_ANY_CLIENT"}},
		{
			"an external scaler for some and for everyone",
			map[string]string{"EXTERNAL_SCALER_BIND_ADDRESS": ":9443", "EXTERNAL_SCALER_CLIENT_CA_PATH": "ca.crt", "EXTERNAL_SCALER_ANY_CLIENT": "true"},
			nil,
			[]string{"EXTERNAL_SCALER_ANY_CLIENT", `"true"`},
		},
		{"namespace that none can be", map[string]string{"WATCH_NAMESPACE": "a,b"}, nil, []string{"WATCH_NAMESPACE", `"a,b"`, "the name of one namespace"}},
		{"system namespace that none can be", nil, []string{"--pod-namespace=Sys"}, []string{"POD_NAMESPACE", `"Sys"`, "the name of one namespace"}},
		{"instance that no label can be", map[string]string{"CONTROLLER_INSTANCE": "team/a"}, nil, []string{"CONTROLLER_INSTANCE", `"team/a"`, "the value of a label"}},
		{"a lease that cannot be kept", map[string]string{"LEADER_ELECT": "true", "LEADER_ELECTION_LEASE_DURATION": "10s"}, nil, []string{"lease duration (10s)", "renew deadline (50s)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.env, tt.args...)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("message %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	var help strings.Builder
	_, err := Parse([]string{"--help"}, func(string) (string, bool) { return "hunter2", true }, &help)
	if !errors.Is(err, ErrAnswered) {
		t.Fatalf("--help: %v", err)
	}
	if strings.Contains(help.String(), "hunter2") {
		t.Error("help prints the environment")
	}
}

func TestHelpListsEveryFlagWithItsTwin(t *testing.T) {
	var help strings.Builder
	if _, err := Parse([]string{"-h"}, func(string) (string, bool) { return "", false }, &help); !errors.Is(err, ErrAnswered) {
		t.Fatalf("-h: %v", err)
	}
	for _, want := range []string{"--leader-elect ($LEADER_ELECT)", "--prometheus-base-url ($PROMETHEUS_BASE_URL)", "(default 1m0s)", "--executor ($WVA_EXECUTOR)", "(default hybrid)"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("help does not say %q:\n%s", want, help.String())
		}
	}
}

func TestVersionIsPrintedWhateverElseIsGiven(t *testing.T) {
	var out strings.Builder
	if _, err := Parse([]string{"--leader-elect", "--version"}, func(string) (string, bool) { return "", false }, &out); !errors.Is(err, ErrAnswered) {
		t.Fatalf("--version: %v", err)
	}
	if want := "manager " + version.String() + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestASecretIsNotInTheError(t *testing.T) {
	const secret = "swordfish"
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
	}{
		"a flag":     {args: []string{"--prometheus-headers=Authorization: Bearer " + secret}},
		"a variable": {env: map[string]string{"PROMETHEUS_HEADERS": "Authorization: Bearer " + secret}},
	} {
		_, err := Parse(c.args, func(key string) (string, bool) { v, ok := c.env[key]; return v, ok }, io.Discard)
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "Name=value") {
			t.Errorf("%s: got %v, want an error that names what is accepted and not the secret", name, err)
		}
	}
}

package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// publishedNames are the flags and variables of the published versions, each with a value that its users have.
// What stands in want is the beginning of the sentence that the manager says at its start, "" where the name means
// what it meant.
var publishedNames = []struct{ flag, env, value, want string }{
	{"metrics-bind-address", "METRICS_BIND_ADDRESS", ":8443", ""},
	{"health-probe-bind-address", "HEALTH_PROBE_BIND_ADDRESS", ":8081", ""},
	{"leader-elect", "LEADER_ELECT", "true", ""},
	{"", "LEADER_ELECTION_ID", "72dd1cf1.llm-d.ai", ""},
	{"leader-election-lease-duration", "LEADER_ELECTION_LEASE_DURATION", "60s", ""},
	{"leader-election-renew-deadline", "LEADER_ELECTION_RENEW_DEADLINE", "50s", ""},
	{"leader-election-retry-period", "LEADER_ELECTION_RETRY_PERIOD", "10s", ""},
	{"rest-client-timeout", "REST_CLIENT_TIMEOUT", "60s", ""},
	{"metrics-secure", "METRICS_SECURE", "true", ""},
	{"metrics-cert-path", "METRICS_CERT_PATH", "/certs", ""},
	{"metrics-cert-name", "METRICS_CERT_NAME", "tls.crt", ""},
	{"metrics-cert-key", "METRICS_CERT_KEY", "tls.key", ""},
	{"enable-http2", "ENABLE_HTTP2", "false", ""},
	{"watch-namespace", "WATCH_NAMESPACE", "models", ""},
	{"webhook-cert-path", "WEBHOOK_CERT_PATH", "/webhook", "has no effect: there is no webhook"},
	{"webhook-cert-name", "WEBHOOK_CERT_NAME", "tls.crt", "has no effect: there is no webhook"},
	{"webhook-cert-key", "WEBHOOK_CERT_KEY", "tls.key", "has no effect: there is no webhook"},
	{"v", "V", "2", "is read as LOG_LEVEL=debug: use LOG_LEVEL=debug"},
	{"v", "V", "0", "asks for what is the default"},
	{"v", "V", "many", `its value "many" is not read (want a whole number)`},
	{"zap-log-level", "", "info", "is read as LOG_LEVEL=info: use LOG_LEVEL"},
	{"zap-log-level", "", "5", "is read as LOG_LEVEL=debug"},
	{"zap-log-level", "", "panic", "is read as LOG_LEVEL=error"},
	{"zap-log-level", "", "loud", `its value "loud" is not read (want one of debug, info, warn, error, panic, or a whole number)`},
	{"zap-devel", "", "true", "is read as LOG_LEVEL=debug: use LOG_LEVEL=debug; lines stay JSON"},
	{"zap-devel", "", "false", "asks for what is the default"},
	{"zap-devel", "", "perhaps", `its value "perhaps" is not read (want true or false)`},
	{"zap-encoder", "", "console", "has no effect: every line of the log is one JSON object"},
	{"zap-time-encoding", "", "epoch", "has no effect: every line of the log is one JSON object"},
	{"zap-stacktrace-level", "", "error", "has no effect: the log has no stack traces"},
	{"", "PROMETHEUS_BASE_URL", "https://p", ""},
	{"", "PROMETHEUS_TLS_INSECURE_SKIP_VERIFY", "true", ""},
	{"", "PROMETHEUS_CA_CERT_PATH", "/ca.crt", ""},
	{"", "PROMETHEUS_CLIENT_CERT_PATH", "/tls.crt", ""},
	{"", "PROMETHEUS_CLIENT_KEY_PATH", "/tls.key", ""},
	{"", "PROMETHEUS_SERVER_NAME", "p", ""},
	{"", "PROMETHEUS_BEARER_TOKEN", "swordfish", ""},
	{"", "PROMETHEUS_TOKEN_PATH", "/token", ""},
	{"", "WVA_SCALE_TO_ZERO", "true", ""},
	{"", "WVA_LIMITED_MODE", "true", ""},
	{"", "LOG_LEVEL", "warn", ""},
	{"", "SCALE_FROM_ZERO_ENGINE_MAX_CONCURRENCY", "10", "has no effect: one pass decides about all models that wait at zero"},
	{"", "EPP_METRIC_READER_BEARER_TOKEN", "swordfish", "is read as EPP_BEARER_TOKEN=(hidden): use EPP_BEARER_TOKEN, or better EPP_TOKEN_PATH"},
	{"", "GLOBAL_OPT_INTERVAL", "60s", ""},
	{"", "POD_NAMESPACE", "wva", ""},
	{"", "CONFIG_MAP_NAME", "settings", ""},
	{"", "SATURATION_CONFIG_MAP_NAME", "thresholds", ""},
	{"", "CONTROLLER_INSTANCE", "blue", ""},
	{"", "WVA_NODE_SELECTOR", "pool=gpu", ""},
	{"", "POOL_GROUP", "inference.networking.k8s.io", "has no effect: InferencePools are not read: EPP_SELECTOR selects the endpoint pickers"},
	{"", "POOL_GROUP", "nonsense", "has no effect: InferencePools are not read"},
	{"", "PROMETHEUS_METRICS_CACHE_MAX_SIZE", "1000", "has no effect: PROMETHEUS_METRICS_CACHE_MAX_ENTRIES, which counts models"},
	{"", "EPP_METRICS_CACHE_ENABLED", "true", "has no effect: what endpoint pickers report is kept with the other metrics"},
	{"", "EPP_METRICS_CACHE_TTL", "30s", "has no effect: what endpoint pickers report is kept with the other metrics"},
	{"", "EPP_METRICS_CACHE_MAX_SIZE", "10", "has no effect: what endpoint pickers report is kept with the other metrics"},
	{"", "EPP_METRICS_CACHE_CLEANUP_INTERVAL", "1m", "has no effect: what endpoint pickers report is kept with the other metrics"},
}

func TestEveryPublishedFlagAndVariableIsAcceptedAndSaidWhereItsMeaningChanged(t *testing.T) {
	check := func(t *testing.T, name, want string, o *Operator, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("refused: %s", err)
		}
		said := o.Warnings()
		if want == "" {
			if len(said) > 0 {
				t.Errorf("got %q, want nothing said", said)
			}
			return
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], name) || !strings.Contains(said[0], want) {
			t.Errorf("got %q\nwant one sentence that begins with %s and has %q in it", said, name, want)
		}
		if strings.Contains(strings.Join(said, ""), "swordfish") {
			t.Errorf("got %q, which has a secret in it", said)
		}
	}
	for _, p := range publishedNames {
		if p.flag != "" {
			t.Run("--"+p.flag+"="+p.value, func(t *testing.T) {
				o, err := parse(t, nil, "--"+p.flag+"="+p.value)
				check(t, "--"+p.flag, p.want, o, err)
			})
		}
		if p.env == "" {
			continue
		}
		t.Run(p.env+"="+p.value, func(t *testing.T) {
			o, err := parse(t, map[string]string{p.env: p.value})
			check(t, p.env, p.want, o, err)
		})
		t.Run(p.env+" of the file", func(t *testing.T) {
			o, err := parse(t, nil, "--config-file="+written(t, p.env+": '"+p.value+"'"))
			check(t, p.env, p.want, o, err)
		})
	}
}

func TestAPublishedSettingIsInForceWhereNoOtherNameOfItIsGiven(t *testing.T) {
	tests := []struct {
		name  string
		env   map[string]string
		args  []string
		level string
		said  string // in the warnings
	}{
		{"more verbose", nil, []string{"--v=4"}, "debug", "--v is a setting of an earlier version and is read as LOG_LEVEL=debug"},
		{"in two words", nil, []string{"--v", "4"}, "debug", "--v"},
		{"development without a value", nil, []string{"--zap-devel", "--leader-elect"}, "debug", "--zap-devel"},
		{"not in development", nil, []string{"--zap-devel=false"}, "info", "--zap-devel=false"},
		{"a level beside development", nil, []string{"--zap-devel", "--zap-log-level=warn"}, "warn", "--zap-devel is a setting of an earlier version and has no effect, because LOG_LEVEL is set by --zap-log-level"},
		{"the present name wins", map[string]string{"LOG_LEVEL": "error"}, []string{"--v=4"}, "error", "because LOG_LEVEL is set by an environment variable"},
		{"the flag of two places", map[string]string{"V": "0"}, []string{"--v=1"}, "debug", "--v is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parse(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if o.LogLevel != tt.level {
				t.Errorf("got level %s, want %s", o.LogLevel, tt.level)
			}
			if said := strings.Join(o.Warnings(), "\n"); !strings.Contains(said, tt.said) {
				t.Errorf("got %q, want in it %q", said, tt.said)
			}
			// A ConfigMap does not take back what the process was told.
			if _, _, explicit := o.Explicit.Lookup("LOG_LEVEL"); explicit != (tt.level != "info") {
				t.Errorf("LOG_LEVEL is explicit: %t", explicit)
			}
		})
	}
}

func TestThePublishedTokenForEndpointPickersIsTheirs(t *testing.T) {
	o, err := parse(t, map[string]string{"EPP_METRIC_READER_BEARER_TOKEN": "old"})
	if err != nil || o.Collector.Scrape.PickerToken != "old" {
		t.Errorf("got token %q, %v", o.Collector.Scrape.PickerToken, err)
	}
	o, err = parse(t, map[string]string{"EPP_METRIC_READER_BEARER_TOKEN": "old", "EPP_BEARER_TOKEN": "new"})
	if err != nil || o.Collector.Scrape.PickerToken != "new" {
		t.Errorf("got token %q, %v", o.Collector.Scrape.PickerToken, err)
	}
}

func TestAKeyThatLostItsMeaningIsAFindingOfThatKeyAlone(t *testing.T) {
	for _, key := range []string{"PROMETHEUS_METRICS_CACHE_MAX_SIZE", "EPP_METRICS_CACHE_ENABLED", "EPP_METRICS_CACHE_TTL", "EPP_METRICS_CACHE_MAX_SIZE", "EPP_METRICS_CACHE_CLEANUP_INTERVAL", "POOL_GROUP"} {
		t.Run(key, func(t *testing.T) {
			store := newStore(t)
			found := store.Apply([]Source{system(settingsMap, key, "1", "LOG_LEVEL", "warn")}).Findings
			if len(found) != 1 || found[0].Severity != Doubtful || found[0].Key != key {
				t.Fatalf("got %v, want one doubtful finding of %s", found, key)
			}
			if text := found[0].String(); !strings.Contains(text, "is a key of an earlier version, and this key alone has no effect") {
				t.Errorf("got %s", text)
			}
			if got := store.Snapshot().Settings().LogLevel; got != "warn" {
				t.Errorf("got level %q; the other key is not in force", got)
			}
		})
	}
}

// TestTheMigrationPageHasEveryPublishedFlagAndVariable: one row each, by its name.
func TestTheMigrationPageHasEveryPublishedFlagAndVariable(t *testing.T) {
	page, err := os.ReadFile("../../docs/migration/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range publishedNames {
		for _, name := range []string{p.flag, p.env} {
			if name == "" {
				continue
			}
			if name == p.flag {
				name = "--" + name
			}
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s is not on the page", name)
			}
		}
	}
	for _, p := range publishedSettings() {
		if !slices.ContainsFunc(publishedNames, func(n struct{ flag, env, value, want string }) bool {
			return n.flag == p.flag && n.env == p.env && n.want != ""
		}) {
			t.Errorf("--%s, %s: is in no row of publishedNames", p.flag, p.env)
		}
		if !strings.Contains(string(page), p.replaced) {
			t.Errorf("%q is not on the page", p.replaced)
		}
	}
}

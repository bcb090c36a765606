package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// written returns the path of a file with this content.
func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEachPlaceWinsOverTheNext(t *testing.T) {
	const flag, variable, file, configMap = "--global-opt-interval=11s", "12s", "GLOBAL_OPT_INTERVAL: 13s", "14s"
	tests := []struct {
		name                            string
		flag, variable, file, configMap string
		want                            time.Duration
	}{
		{"flag", flag, variable, file, configMap, 11 * time.Second},
		{"environment", "", variable, file, configMap, 12 * time.Second},
		{"file", "", "", file, configMap, 13 * time.Second},
		{"ConfigMap", "", "", "", configMap, 14 * time.Second},
		{"default", "", "", "", "", time.Minute},
		{"a flag that repeats the default", "--global-opt-interval=60s", variable, file, configMap, time.Minute},
		{"a file that says something else", "", "", "LOG_LEVEL: debug", configMap, 14 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--pod-namespace=" + systemNamespace, "--config-file=" + written(t, tt.file)}
			if tt.flag != "" {
				args = append(args, tt.flag)
			}
			o, err := parse(t, map[string]string{"GLOBAL_OPT_INTERVAL": tt.variable}, args...)
			if err != nil {
				t.Fatal(err)
			}
			store, err := o.NewStore()
			if err != nil {
				t.Fatal(err)
			}
			report := store.Apply([]Source{system(settingsMap, "GLOBAL_OPT_INTERVAL", tt.configMap)})
			with, err := o.With(store.Snapshot().Settings())
			if err != nil {
				t.Fatal(err)
			}
			if with.Interval != tt.want {
				t.Errorf("interval %s, want %s", with.Interval, tt.want)
			}
			if overridden := tt.configMap != "" && tt.want != 14*time.Second; overridden != (len(report.Findings) == 1) {
				t.Errorf("findings %v; overridden: %t", report.Findings, overridden)
			}
			if tt.configMap == "" && o.Interval != tt.want {
				t.Errorf("interval %s before ConfigMaps are read, want %s", o.Interval, tt.want)
			}
		})
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	o, err := parse(t, map[string]string{"CONFIG_FILE": written(t, "WATCH_NAMESPACE: team\nLEADER_ELECT: true")})
	if err != nil {
		t.Fatal(err)
	}
	if o.WatchNamespace != "team" || !o.LeaderElect {
		t.Errorf("got %+v, want what the file says", o)
	}
}

func TestAFlagKeepsTheMeaningOfWhatWasWritten(t *testing.T) {
	o, err := parse(t, map[string]string{"PROMETHEUS_SERVER_NAME": "of-the-environment"},
		"--prometheus-headers=X-Scope-OrgID=a, B=c=d", "--prometheus-server-name=", "--epp-selector=")
	if err != nil {
		t.Fatal(err)
	}
	store, err := o.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	with, err := o.With(store.Snapshot().Settings())
	if err != nil {
		t.Fatal(err)
	}
	for when, p := range map[string]Prometheus{"before": o.Prometheus, "after": with.Prometheus} {
		if diff := cmp.Diff(map[string]string{"X-Scope-OrgID": "a", "B": "c=d"}, p.Headers); diff != "" {
			t.Errorf("headers %s ConfigMaps are read (-want +got):\n%s", when, diff)
		}
		if p.ServerName != "of-the-environment" {
			t.Errorf("server name %q %s ConfigMaps are read; an empty flag says nothing", p.ServerName, when)
		}
	}
	if o.Collector.Scrape.PickerSelector != "" {
		t.Error("a flag cannot empty what is not empty by default")
	}
}

func TestWhatTheFileMayNotSayIsRefused(t *testing.T) {
	tests := map[string]struct {
		content string
		want    []string // parts of the message
	}{
		"unknown setting":       {"GLOBAL_OPT_INTERVALL: 30s", []string{`"GLOBAL_OPT_INTERVALL" is not a known setting; did you mean GLOBAL_OPT_INTERVAL?`}},
		"value that is no text": {"LOG_LEVEL: [debug]", []string{`LOG_LEVEL: "a list" is not accepted`}},
		"no duration":           {"GLOBAL_OPT_INTERVAL: soon", []string{"GLOBAL_OPT_INTERVAL in ", "config.yaml", `"soon"`, "such as 30s"}},
		"out of range":          {"GLOBAL_OPT_INTERVAL: 2h", []string{"GLOBAL_OPT_INTERVAL", `"2h0m0s"`, "1s to 1h"}},
		"no YAML":               {"{", []string{"config.yaml", "reading the configuration file"}},
		"secret":                {"PROMETHEUS_HEADERS: hunter2", []string{"PROMETHEUS_HEADERS", "Name=value"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, nil, "--config-file="+written(t, tt.content))
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
	if _, err := parse(t, nil, "--config-file="+filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "CONFIG_FILE") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestSettingsOfEarlierVersionsInAFileAreNamed(t *testing.T) {
	o, err := parse(t, nil, "--config-file="+written(t, "WEBHOOK_CERT_PATH: /certs\nLOG_LEVEL: warn"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o.Warnings(), "\n"); !strings.Contains(got, "WEBHOOK_CERT_PATH is a setting of an earlier version and has no effect: there is no webhook") || strings.Contains(got, "LOG_LEVEL") {
		t.Errorf("warnings %q", got)
	}
}

func TestANameOfItsOwnComesBeforeThePublishedOnes(t *testing.T) {
	o, err := parse(t, map[string]string{"CONFIG_MAP_NAME": "mine", "SATURATION_CONFIG_MAP_NAME": "thresholds"}, "--pod-namespace="+systemNamespace)
	if err != nil {
		t.Fatal(err)
	}
	store, err := o.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	store.Apply([]Source{
		system(settingsMap, "GLOBAL_OPT_INTERVAL", "10s"), system("mine", "GLOBAL_OPT_INTERVAL", "20s"),
		system(saturationMap, "default", "kvCacheThreshold: 0.6"), system("thresholds", "default", "kvCacheThreshold: 0.7"),
	})
	snapshot := store.Snapshot()
	if got := snapshot.Settings().Interval; got != 20*time.Second {
		t.Errorf("interval %s, want that of the ConfigMap mine", got)
	}
	if got := snapshot.Policy(llama).Saturation.KVCacheThreshold; got != 0.7 {
		t.Errorf("threshold %g, want that of the ConfigMap thresholds", got)
	}
}

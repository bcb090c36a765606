package config

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
)

// settingCases holds for every key a value that is not its default, and where
// it is seen.
var settingCases = []struct {
	key, value string
	seen       func(Settings) any
	want       any
}{
	{"GLOBAL_OPT_INTERVAL", "45s", func(s Settings) any { return s.Interval }, 45 * time.Second},
	{"WVA_EXECUTOR", "polling", func(s Settings) any { return s.Executor }, "polling"},
	{"WVA_SCALE_TO_ZERO", "True", func(s Settings) any { return s.ScaleToZero }, true},
	{"WVA_LIMITED_MODE", "true", func(s Settings) any { return s.LimitedMode }, true},
	{"WVA_TRUST_NAMESPACES", "false", func(s Settings) any { return s.TrustNamespaces }, false},
	{annotatedKey, "false", func(s Settings) any { return s.AnnotatedScalers }, false},
	{"WVA_ADVISORY", "true", func(s Settings) any { return s.Advisory }, true},
	{"WVA_SHARE_PROFILES", "true", func(s Settings) any { return s.ShareProfiles }, true},
	{"COLLECTOR_BACKEND", "pods", func(s Settings) any { return s.Backend }, "pods"},
	{"LOG_LEVEL", "debug", func(s Settings) any { return s.LogLevel }, "debug"},
	{"PROMETHEUS_BASE_URL", "https://p:9090", func(s Settings) any { return s.Prometheus.BaseURL }, "https://p:9090"},
	{"PROMETHEUS_CA_CERT_PATH", "/ca", func(s Settings) any { return s.Prometheus.CACertPath }, "/ca"},
	{"PROMETHEUS_CLIENT_CERT_PATH", "/cert", func(s Settings) any { return s.Prometheus.ClientCertPath }, "/cert"},
	{"PROMETHEUS_CLIENT_KEY_PATH", "/key", func(s Settings) any { return s.Prometheus.ClientKeyPath }, "/key"},
	{"PROMETHEUS_SERVER_NAME", "p", func(s Settings) any { return s.Prometheus.ServerName }, "p"},
	{"PROMETHEUS_BEARER_TOKEN", "t", func(s Settings) any { return s.Prometheus.BearerToken }, "t"},
	{"PROMETHEUS_TOKEN_PATH", "/token", func(s Settings) any { return s.Prometheus.TokenPath }, "/token"},
	{"PROMETHEUS_HEADERS", "A=1,B=x y", func(s Settings) any { return s.Prometheus.Headers["B"] }, "x y"},
	{"PROMETHEUS_METRIC_PREFIXES", "vllm:, acme_vllm_", func(s Settings) any { return s.Prometheus.MetricPrefixes.String() }, "vllm:,acme_vllm_"},
	{"PROMETHEUS_USERNAME", "u", func(s Settings) any { return s.Prometheus.Username }, "u"},
	{"PROMETHEUS_PASSWORD", "p", func(s Settings) any { return s.Prometheus.Password }, "p"},
	{"PROMETHEUS_TLS_INSECURE_SKIP_VERIFY", "true", func(s Settings) any { return s.Prometheus.InsecureSkipVerify }, true},
	{"PROMETHEUS_METRICS_CACHE_ENABLED", "false", func(s Settings) any { return s.Cache.Enabled }, false},
	{"PROMETHEUS_METRICS_CACHE_MODE", "adaptive", func(s Settings) any { return s.Cache.Mode }, "adaptive"},
	{"PROMETHEUS_METRICS_CACHE_TTL", "7s", func(s Settings) any { return s.Cache.TTL }, 7 * time.Second},
	{"PROMETHEUS_METRICS_CACHE_CLEANUP_INTERVAL", "2m", func(s Settings) any { return s.Cache.CleanupInterval }, 2 * time.Minute},
	{"PROMETHEUS_METRICS_CACHE_MAX_ENTRIES", "12", func(s Settings) any { return s.Cache.MaxEntries }, 12},
	{"PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL", "0", func(s Settings) any { return s.Cache.FetchInterval }, time.Duration(0)},
	{"PROMETHEUS_METRICS_CACHE_FRESH_THRESHOLD", "2m", func(s Settings) any { return s.Cache.FreshThreshold }, 2 * time.Minute},
	{"PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD", "10m", func(s Settings) any { return s.Cache.UnavailableThreshold }, 10 * time.Minute},
}

// policyCases is the same for the fields of KindSaturation.
var policyCases = []struct {
	key, value string
	seen       func(ModelSettings) any
	want       any
}{
	{"kvCacheThreshold", "0.6", func(p ModelSettings) any { return p.Saturation.KVCacheThreshold }, 0.6},
	{"queueLengthThreshold", "7", func(p ModelSettings) any { return p.Saturation.QueueLengthThreshold }, 7.0},
	{"kvSpareTrigger", "0.2", func(p ModelSettings) any { return p.Saturation.KVSpareTrigger }, 0.2},
	{"queueSpareTrigger", "1", func(p ModelSettings) any { return p.Saturation.QueueSpareTrigger }, 1.0},
	{"enableLimiter", "true", func(p ModelSettings) any { return p.Limited }, true},
	{"analyzerName", "saturation", func(p ModelSettings) any { return p.Analyzer }, "saturation"},
	{"scaleUpThreshold", "0.95", func(p ModelSettings) any { return p.ScaleUpThreshold }, 0.95},
	{"scaleDownBoundary", "0.5", func(p ModelSettings) any { return p.ScaleDownBoundary }, 0.5},
	{"engine", "hybrid", func(p ModelSettings) any { return p.Engine }, "hybrid"},
	{"scaleUpStabilization", "20s", func(p ModelSettings) any { return p.ScaleUpStabilization }, 20 * time.Second},
	{"scaleDownStartUps", "0", func(p ModelSettings) any { return p.ScaleDownStartUps }, 0.0},
	{"scaleDownStabilization", "0s", func(p ModelSettings) any { return p.ScaleDownStabilization }, time.Duration(0)},
	{"maxScaleUpStep", "4", func(p ModelSettings) any { return p.MaxScaleUpStep }, 4},
	{"maxScaleDownStep", "0", func(p ModelSettings) any { return p.MaxScaleDownStep }, 0},
	{"ttftPercentile", "0.99", func(p ModelSettings) any { return p.TTFTPercentile }, 0.99},
	{"attainment", "0.99", func(p ModelSettings) any { return p.Attainment }, 0.99},
	{"attainmentWindow", "24h", func(p ModelSettings) any { return p.AttainmentWindow }, 24 * time.Hour},
	{"itlPercentile", "0.5", func(p ModelSettings) any { return p.ITLPercentile }, 0.5},
}

// otherCases is the same for the kinds with few fields.
var otherCases = []struct {
	in   Kind
	key  string
	m    Source
	seen func(*Snapshot) any
	want any
}{
	{KindServiceClasses, "name", system(classesMap, "k", "name: Gold\ndata: [{model: meta/llama, slo-ttft: 1}]"), objectiveOf(func(o Objective) any { return o.Class }), "Gold"},
	{KindServiceClasses, "priority", system(classesMap, "k", "priority: 3\ndata: [{model: meta/llama, slo-ttft: 1}]"), objectiveOf(func(o Objective) any { return o.Priority }), 3},
	{KindServiceClasses, "data", system(classesMap, "k", "data: [{model: meta/llama, slo-ttft: 1}]"), objectiveOf(func(o Objective) any { return o.Key }), "k"},
	{KindServiceClasses, "model", system(classesMap, "k", "data: [{model: meta/llama, slo-ttft: 1}]"), objectiveOf(func(o Objective) any { return o.Level }), LevelModel},
	{KindServiceClasses, "namespace", system(classesMap, "k", "data: [{model: meta/llama, namespace: team, slo-ttft: 1}]"), objectiveOf(func(o Objective) any { return o.Level }), LevelNamespacedModel},
	{KindServiceClasses, "slo-tpot", system(classesMap, "k", "data: [{model: meta/llama, slo-tpot: 24.5}]"), objectiveOf(func(o Objective) any { return o.ITL }), 24.5},
	{KindServiceClasses, "slo-ttft", system(classesMap, "k", "data: [{model: meta/llama, slo-ttft: 500}]"), objectiveOf(func(o Objective) any { return o.TTFT }), 500.0},
	{KindUnitCosts, "device", system(costsMap, "A100", `{"device": "NVIDIA-A100", "cost": "40.00"}`), func(s *Snapshot) any { u, _ := s.UnitCost("team", "NVIDIA-A100"); return u.Accelerator }, "A100"},
	{KindUnitCosts, "cost", system(costsMap, "A100", `{"device": "NVIDIA-A100", "cost": "40.00"}`), func(s *Snapshot) any { u, _ := s.UnitCost("team", "A100"); return u.Cost }, 40.0},
	{KindScaleToZero, "modelID", system(zeroMap, "k", "modelID: meta/llama\nenableScaleToZero: true"), func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Enabled }, true},
	{KindScaleToZero, "namespace", system(zeroMap, "k", "modelID: meta/llama\nnamespace: other\nenableScaleToZero: true"), func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Enabled }, false},
	{KindScaleToZero, "enableScaleToZero", system(zeroMap, "__defaults__", "enableScaleToZero: true"), func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Enabled }, true},
	{KindScaleToZero, "retentionPeriod", system(zeroMap, "default", "retention_period: 1h30m"), func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Retention }, 90 * time.Minute},
	{KindSaturation, "model_id", system(saturationMap, "k", "model_id: meta/llama\nmaxScaleUpStep: 3"), func(s *Snapshot) any { return s.Policy(llama).MaxScaleUpStep }, 3},
	{KindSaturation, "namespace", system(saturationMap, "k", "namespace: team\nmaxScaleUpStep: 3"), func(s *Snapshot) any { return s.Policy(llama).MaxScaleUpStep }, 3},
	{KindQuota, "namespaceQuotas", system(quotaMap, "quotas", "namespaceQuotas: {team: {L40S: 2}}"), func(s *Snapshot) any { return s.Quota("team", "A100") }, 0},
	{KindQuota, "default", system(quotaMap, "quotas", "default: {A100: 2}"), func(s *Snapshot) any { return s.Quota("team", "A100") }, 2},
	{KindQuota, "exclude", system(quotaMap, "quotas", "default: {A100: 2}\nexclude: [team]"), func(s *Snapshot) any { return s.Quota("team", "A100") }, Unlimited},
	{KindSchedule, "allow", system(scheduleMap, "w", "allow: growth\ntimeZone: UTC\nto: 13:00"), frozen, "growth w, until 2026-11-25 13:00 UTC"},
	{KindSchedule, "timeZone", system(scheduleMap, "w", "allow: none\ntimeZone: Asia/Kolkata\ndays: [Wed]"), frozen, "none w, until 2026-11-26 00:00 IST"},
	{KindSchedule, "days", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\ndays: Wed"), frozen, "none w, until 2026-11-26 00:00 UTC"},
	{KindSchedule, "from", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nfrom: 13:00"), frozen, ""},
	{KindSchedule, "to", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 12:30"), frozen, "none w, until 2026-11-25 12:30 UTC"},
	{KindSchedule, "namespace", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 13:00\nnamespace: other"), frozen, ""},
	{KindSchedule, "model", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 13:00\nmodel: other"), frozen, ""},
	{KindSchedule, "variant", system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 13:00\nvariant: other"), frozen, ""},
}

func objectiveOf(seen func(Objective) any) func(*Snapshot) any {
	return func(s *Snapshot) any {
		o, err := s.Objective(llama, ClassRef{})
		if err != nil {
			return err
		}
		return seen(o)
	}
}

func TestEveryKeyArrivesInTheSnapshot(t *testing.T) {
	type place struct {
		in  Kind
		key string
	}
	tested := map[place]bool{{KindSettings, "PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD"}: true} // has no effect, as its finding says
	for _, tt := range settingCases {
		tested[place{KindSettings, tt.key}] = true
		for form, m := range map[string]Source{
			"key":         system(settingsMap, tt.key, tt.value),
			"config.yaml": system(settingsMap, "config.yaml", tt.key+": "+tt.value),
		} {
			if got := tt.seen(applied(t, m).Settings()); got != tt.want || got == tt.seen(defaultSettings()) {
				t.Errorf("%s as %s: got %v, want %v, which is not the default", tt.key, form, got, tt.want)
			}
		}
	}
	for _, tt := range policyCases {
		tested[place{KindSaturation, tt.key}] = true
		content := tt.key + ": " + tt.value
		for form, m := range map[string]Source{
			"default":      system(saturationMap, "default", content),
			"override":     system(saturationMap, "x", "model_id: meta/llama\n"+content),
			"in namespace": in("team", saturationMap, "default", content),
		} {
			if got := tt.seen(applied(t, m).Policy(llama)); got != tt.want || got == tt.seen(defaultPolicy()) {
				t.Errorf("%s by %s: got %v, want %v, which is not the default", tt.key, form, got, tt.want)
			}
		}
	}
	for _, tt := range otherCases {
		tested[place{tt.in, tt.key}] = true
		if got := tt.seen(applied(t, tt.m)); got != tt.want {
			t.Errorf("%s, %s: got %v, want %v", tt.in, tt.key, got, tt.want)
		}
	}
	for _, k := range Catalogue() {
		if !tested[place{k.In, k.Name}] {
			t.Errorf("%s, %s: is documented and has no test that its value arrives", k.In, k.Name)
		}
		delete(tested, place{k.In, k.Name})
	}
	for left := range tested {
		t.Errorf("%s, %s: is tested and not documented", left.in, left.key)
	}
}

func TestEverySettingOfTheProcessReachesTheOperator(t *testing.T) {
	for _, tt := range settingCases {
		if tt.key == "WVA_SCALE_TO_ZERO" || tt.key == "WVA_LIMITED_MODE" || tt.key == trustKey || tt.key == annotatedKey || tt.key == "WVA_SHARE_PROFILES" || tt.key == "WVA_ADVISORY" {
			continue // of models: they are in their Policy
		}
		if got := applied(t, system(settingsMap, tt.key, tt.value)).Settings().Onto(Operator{}); cmp.Equal(got, defaultSettings().Onto(Operator{})) {
			t.Errorf("%s=%s: the operator's configuration is that of the defaults", tt.key, tt.value)
		}
	}
}

func TestEveryKeyIsDocumentedAndItsDefaultAccepted(t *testing.T) {
	for _, k := range Catalogue() {
		if k.In == "" || k.Type == "" || k.Accepts == "" || k.Meaning == "" {
			t.Errorf("%+v: a part is missing", k)
		}
	}
	for _, f := range settingFields() {
		if _, ok := f.parse(plainText(f.Default)); !ok && f.Default != "" {
			t.Errorf("%s: its default %q is not accepted", f.Name, f.Default)
		}
	}
	for _, f := range policyFields() {
		if _, ok := f.parse(plainText(f.Default)); !ok && f.Default != "WVA_LIMITED_MODE" && f.Default != engineDefault {
			t.Errorf("%s: its default %q is not accepted", f.Name, f.Default)
		}
	}
}

func TestDefaultsAreThoseOfTheRest(t *testing.T) {
	if diff := cmp.Diff(saturation.Default(), defaultPolicy().Saturation); diff != "" {
		t.Errorf("thresholds (-analysis +configuration):\n%s", diff)
	}
	o, err := Parse([]string{"--prometheus-base-url=https://p"}, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Prometheus.BaseURL = ""
	if diff := cmp.Diff(*o, defaultSettings().Onto(*o), cmpopts.IgnoreFields(Operator{}, "Explicit")); diff != "" {
		t.Errorf("settings (-flags +ConfigMap):\n%s", diff)
	}
}

func TestConfigMapAcceptsWhatTheEnvironmentAccepts(t *testing.T) {
	samples := []string{
		"", "1s", "999ms", "1h", "3601s", "0", "0s", "-1s", "5m", "24h", "25h", "10m", "1000000h", "9999999999h", "true", "false", "TRUE", "yes", "1",
		"10000", "1000001", "-1", "1.5", "NaN", "debug", "hybrid", "polling", "pods", "fixed", "https://p", "loud", "A=1", "A",
	}
	for _, f := range settingFields() {
		for _, value := range samples {
			if f.Type == "text" && f.Name != "LOG_LEVEL" && f.Name != "WVA_EXECUTOR" && f.Name != "COLLECTOR_BACKEND" && !strings.HasSuffix(f.Name, "_MODE") {
				continue // any text will do, and files are looked at
			}
			lookup := File{"PROMETHEUS_BASE_URL": "https://p", f.Name: value}.Lookup
			_, err := Parse(nil, lookup, nil)
			if f.Name == "WVA_SCALE_TO_ZERO" || f.Name == "WVA_LIMITED_MODE" || f.Name == trustKey || f.Name == annotatedKey || f.Name == "WVA_SHARE_PROFILES" || f.Name == "WVA_ADVISORY" || err != nil && value == "epp" {
				continue // no flags yet
			}
			refused := slices.ContainsFunc(newStore(t).Apply([]Source{system(settingsMap, f.Name, value)}).Findings, func(f Finding) bool { return f.Severity == Refused })
			if refused != (err != nil) {
				t.Errorf("%s=%q: refused in a ConfigMap: %t; environment: %v", f.Name, value, refused, err)
			}
		}
	}
}

func TestEveryFlagIsASettingOrOfTheProcess(t *testing.T) {
	var help bytes.Buffer
	_, _ = Parse([]string{"--help"}, func(string) (string, bool) { return "", false }, &help)
	twins := regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`).FindAllStringSubmatch(help.String(), -1)
	if len(twins) < 20 {
		t.Fatalf("got %d environment variables in the help, want them all", len(twins))
	}
	known := processKeys()
	for _, f := range settingFields() {
		known = append(known, f.Name)
	}
	for _, twin := range twins {
		if !slices.Contains(known, twin[1]) {
			t.Errorf("%s: is neither in settingFields nor in processKeys", twin[1])
		}
	}
}

func TestProcessSettingInAConfigMapHasNoEffectAndSaysSo(t *testing.T) {
	r := newStore(t).Apply([]Source{system(settingsMap, "config.yaml", "METRICS_BIND_ADDRESS: :8443\nLEADER_ELECT: true")})
	if r.Changed || len(r.Findings) != 2 {
		t.Errorf("got %+v, want two findings and no change", r)
	}
	for i, key := range []string{"LEADER_ELECT", "METRICS_BIND_ADDRESS"} {
		if !strings.HasPrefix(lines(r.Findings[i:]), fmt.Sprintf("doubtful ConfigMap %s/%s, %s: is a setting of the process", systemNamespace, settingsMap, key)) {
			t.Errorf("got %s", r.Findings[i])
		}
	}
}

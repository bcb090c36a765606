package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestBadInputIsNamed: one ConfigMap, one finding.
func TestBadInputIsNamed(t *testing.T) {
	tests := []struct {
		name string
		m    Source
		want string
	}{
		{"two documents in a value", system(saturationMap, "default", "a: 1\n---\nb: 2"), "default: is not read: it holds more than one document"},
		{"a list", system(saturationMap, "default", "- kvCacheThreshold: 0.7"), "default: is not read: it is a list: want YAML fields"},
		{"text", system(saturationMap, "default", "kvCacheThreshold=0.7"), "default: is not read: it is text"},
		{"nothing", system(saturationMap, "default", " \n# a comment\n"), "default: is not read: it is empty"},
		{"field twice", system(saturationMap, "default", "engine: model\nengine: model"), `key "engine" already set in map`},
		{"reference to itself", system(saturationMap, "default", "engine: &a [*a]"), "default: is not read: "},
		{"wrong type", system(saturationMap, "default", "engine: {name: model}"), `default, engine: "{\"name\":\"model\"}" is not accepted: want one of tokens, saturation, queueing (or model), hybrid, published`},
		{
			"an engine misspelt", system(saturationMap, "default", "engine: tokenz"),
			`engine: "tokenz" is not accepted: want one of tokens, saturation, queueing (or model), hybrid, published; did you mean tokens?`,
		},
		{"fraction of a replica", system(saturationMap, "default", "maxScaleUpStep: 1.5"), `maxScaleUpStep: "1.5" is not accepted: want a whole number from 0 to 10000`},
		{"text for a boolean", system(saturationMap, "default", `enableLimiter: "true"`), `enableLimiter: "true" is not accepted: want true or false`},
		{"percentile of 100", system(saturationMap, "default", "ttftPercentile: 1"), "want a ratio from 0 to below 1"},
		{"threshold of nothing", system(saturationMap, "default", "scaleUpThreshold: 0"), "want a ratio above 0, up to 1"},
		{"token capacity without a gap", system(saturationMap, "default", "analyzerName: saturation\nscaleUpThreshold: 0.7"), "want scaleUpThreshold (0.7) above scaleDownBoundary (0.7)"},
		{"model that is no text", system(saturationMap, "m", "model_id: 3"), `m, model_id: "3" is not accepted: want text; in force: nothing of this entry`},
		{"same model twice", system(saturationMap, "a", "model_id: x", "b", "model_id: x"), ", b: is for the same models as a: want one entry for each; in force: a"},
		{"default for one model", system(saturationMap, "default", "model_id: x\nengine: model"), "doubtful ConfigMap wva-system/saturation-scaling-config, default: is for every model: its model_id and namespace have no effect"},
		{"other namespace", in("team", saturationMap, "m", "model_id: x\nnamespace: other"), `m, namespace: "other" is not accepted: want the namespace of the ConfigMap`},
		{"whole namespace by another key", in("team", saturationMap, "m", "namespace: team"), "m, model_id: is missing: want the ID of a model; what is for the whole namespace stands under the key default"},

		{"setting in a mapping", system(settingsMap, "config.yaml", "LOG_LEVEL: {a: b}"), `config.yaml, LOG_LEVEL: "a mapping" is not accepted: want text, a number, true or false`},
		{"headers", system(settingsMap, "PROMETHEUS_HEADERS", "a"), "PROMETHEUS_HEADERS: \"(hidden)\" is not accepted: want Name=value pairs"},
		{"prefix that is no metric name", system(settingsMap, "PROMETHEUS_METRIC_PREFIXES", "vllm:,acme-vllm:"), `PROMETHEUS_METRIC_PREFIXES: "vllm:,acme-vllm:" is not accepted: want beginnings of metric names such as vllm:,kserve_vllm:,ray_vllm_`},
		{"empty prefix", system(settingsMap, "PROMETHEUS_METRIC_PREFIXES", "vllm:,"), `PROMETHEUS_METRIC_PREFIXES: "vllm:," is not accepted`},
		{"URL", system(settingsMap, "PROMETHEUS_BASE_URL", "ftp://p"), `PROMETHEUS_BASE_URL: "ftp://p" is not accepted: want a URL such as`},
		{"URL with a password", system(settingsMap, "PROMETHEUS_BASE_URL", "ftp://u:swordfish@p"), `PROMETHEUS_BASE_URL: "ftp://u:xxxxx@p" is not accepted`},
		{"stale threshold", system(settingsMap, "PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD", "2m"), "doubtful ConfigMap wva-system/" + settingsMap + ", PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD: \"2m0s\" has no effect"},

		{"same model twice, at zero", system(zeroMap, "model.a", "modelID: x", "model.b", "model_id: x"), "model.b: is for the same models as model.a"},
		{"both spellings", system(zeroMap, "default", "retentionPeriod: 1m\nretention_period: 2m"), "retention_period: is said twice: want either retentionPeriod or retention_period; in force: retentionPeriod"},
		{"defaults for one model", system(zeroMap, "__defaults__", "modelID: x"), "is for every model: its modelID and namespace have no effect"},
		{"no model", system(zeroMap, "model.x", "enableScaleToZero: true"), "model.x, modelID: is missing"},
		{"other namespace, at zero", in("team", zeroMap, "x", "modelID: x\nnamespace: other"), "want the namespace of the ConfigMap"},
		{"model that is no text, at zero", system(zeroMap, "x", "modelID: [x]"), `modelID: "[\"x\"]" is not accepted: want text`},

		{"rows that are no list", system(classesMap, "a", "data: {model: x}"), "a, data: \"{\\\"model\\\":\\\"x\\\"}\" is not accepted: want a list of rows"},
		{"row that is none", system(classesMap, "a", "data: [x]"), `data[0]: "x" is not accepted: want a row with model`},
		{"row without model", system(classesMap, "a", "data: [{slo-ttft: 1}]"), "data[0].model: is missing"},
		{"row without objective", system(classesMap, "a", "data: [{model: x}]"), "data[0]: has no objective: want slo-tpot, slo-ttft or both"},
		{"row with a wrong model", system(classesMap, "a", "data: [{model: 1, slo-ttft: 1}]"), `data[0].model: "1" is not accepted: want text`},
		{"row for another namespace", in("team", classesMap, "a", "data: [{model: x, namespace: other, slo-ttft: 1}]"), "want the namespace of the ConfigMap"},
		{"row twice", system(classesMap, "a", "data: [{model: x, namespace: ns, slo-ttft: 1}, {model: x, namespace: ns, slo-ttft: 2}]"), `"x" has a row already in namespace ns: want one row for each model; in force: that of a`},
		{"name twice", system(classesMap, "a", "name: A\ndata: [{model: x, slo-ttft: 1}]", "b", "name: A\ndata: [{model: z, slo-ttft: 1}]"), "doubtful ConfigMap wva-system/service-classes-config, b, name: \"A\" is also the name of the class of a"},
		{"endless objective", system(classesMap, "a", "data: [{model: x, slo-ttft: 3600001}]"), "want a number of ms from 0 to 3600000, 0 for no objective; in force: nothing of this row"},

		{"no cost", system(costsMap, "A100", `{"device": "x"}`), "A100, cost: is missing: want a decimal number; in force: no unit cost"},
		{"negative cost", system(costsMap, "A100", `{"cost": "-1"}`), `cost: "-1" is not accepted: want a decimal number`},
		{"huge cost", system(costsMap, "A100", `{"cost": "10000000000"}`), "want a decimal number from 0 to 1000000000"},

		{"quotas that are no mapping", system(quotaMap, "quotas", "namespaceQuotas: [team]"), "namespaceQuotas: \"[\\\"team\\\"]\" is not accepted: want a mapping from namespaces to types and counts"},
		{"quota that is no mapping", system(quotaMap, "quotas", "default: 4"), `default: "4" is not accepted: want a mapping from accelerator types to counts`},
		{"part of an accelerator", system(quotaMap, "quotas", "default: {A100: 0.5}"), `default.A100: "0.5" is not accepted: want a whole number from 0`},
		{"exclusion that is no list", system(quotaMap, "quotas", "exclude: team"), `exclude: "team" is not accepted: want a list of namespaces`},
		{"excluded and limited", system(quotaMap, "quotas", "namespaceQuotas: {team: {A100: 1}}\nexclude: [team]"), "namespaceQuotas.team: has no effect: the namespace is excluded"},
		{"unknown part", system(quotaMap, "quotas", "defaults: {A100: 1}"), "defaults: is not known; did you mean default?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			wantFinding(t, s.Apply([]Source{tt.m}).Findings, tt.want)
			checkInForce(t, s.Snapshot())
		})
	}
}

func TestValueThatNoLongerFitsIsTakenBackToo(t *testing.T) {
	const ttl, unavailable = "PROMETHEUS_METRICS_CACHE_TTL", "PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD"
	s := newStore(t)
	if r := s.Apply([]Source{system(settingsMap, ttl, "8m", unavailable, "10m")}); len(r.Findings) > 0 {
		t.Fatal(lines(r.Findings))
	}
	// What made room for it is gone.
	r := s.Apply([]Source{system(settingsMap, ttl, "8m")})
	wantFinding(t, r.Findings, ttl+": \"8m\" is not accepted: want "+ttl+" not above "+unavailable+"; in force: the default 30s")
	if got := s.Snapshot().Settings().Cache.TTL; got != 30*time.Second {
		t.Errorf("got %s, want the default", got)
	}
}

// TestAListWithABadPrefixIsRefusedAlone: the last good list stays, and so does what the other keys
// of the ConfigMap say.
func TestAListWithABadPrefixIsRefusedAlone(t *testing.T) {
	const key = "PROMETHEUS_METRIC_PREFIXES"
	for _, bad := range []string{"acme-vllm:", "vllm:,acme-vllm:", "vllm:,", "", ",", "1vllm:", `vllm:{a="b"}`, "vllm: acme_", "vllm:;acme_", "a,b,c,d,e,f,g", strings.Repeat("a", 65)} {
		for _, good := range []string{"", "kserve_vllm:,ray_vllm_"} {
			t.Run(fmt.Sprintf("%.20q after %q", bad, good), func(t *testing.T) {
				s, inForce := newStore(t), "vllm:,kserve_vllm:,ray_vllm_"
				if good != "" {
					inForce = good
					s.Apply([]Source{system(settingsMap, key, good)})
				}
				r := s.Apply([]Source{system(settingsMap, key, bad, "LOG_LEVEL", "debug", "GLOBAL_OPT_INTERVAL", "90s")})
				got := s.Snapshot().Settings()
				switch {
				case bad == "": // as not set
					if len(r.Findings) > 0 {
						t.Errorf("got %s", lines(r.Findings))
					}
				case len(r.Findings) != 1 || !strings.Contains(r.Findings[0].String(), key):
					t.Errorf("got findings\n%s\nwant one, of %s", lines(r.Findings), key)
				case got.Prometheus.MetricPrefixes.String() != inForce:
					t.Errorf("%s is in force, want %s", got.Prometheus.MetricPrefixes, inForce)
				}
				if got.LogLevel != "debug" || got.Interval != 90*time.Second {
					t.Errorf("the other keys: got %s and %s", got.LogLevel, got.Interval)
				}
			})
		}
	}
}

func TestFileThatCannotBeReadTakesNothingBack(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{system(settingsMap, "config.yaml", "PROMETHEUS_HEADERS: X-Scope-OrgID=a,B=c\nGLOBAL_OPT_INTERVAL: 90s\nPROMETHEUS_METRICS_CACHE_MAX_ENTRIES: 7\nWVA_LIMITED_MODE: true")})
	want := s.Snapshot().Settings()
	r := s.Apply([]Source{system(settingsMap, "config.yaml", "{", "LOG_LEVEL", "debug")})
	wantFinding(t, r.Findings, "config.yaml: is not read: ", "in force: the last good values")
	got := s.Snapshot().Settings()
	if got.LogLevel != "debug" {
		t.Errorf("got log level %s, want that of its own key", got.LogLevel)
	}
	if got.Interval != want.Interval || got.Prometheus.Headers["B"] != "c" || got.Cache.MaxEntries != 7 || !got.LimitedMode {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestClassKeepsItsRowsWhileTheyCannotBeRead(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{system(classesMap, "a", "priority: 7\ndata: [{model: meta/llama, slo-ttft: 500}]")})
	r := s.Apply([]Source{system(classesMap, "a", "priority: high\ndata: nothing")})
	if all := lines(r.Findings); !strings.Contains(all, "in force: the last good rows") || !strings.Contains(all, "in force: the last good value 7") {
		t.Errorf("got\n%s\nwant what was good in force", all)
	}
	if o, err := s.Snapshot().Objective(llama, ClassRef{}); err != nil || o.TTFT != 500 || o.Priority != 7 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestLastGoodValuesAreKeptBeyondWhatFindingsList(t *testing.T) {
	const n = 3 * mostFindings
	version := func(zero, row, setting, entry string) []Source {
		zeros, classes, policies := system(zeroMap), system(classesMap), system(saturationMap)
		for i := range n {
			key := fmt.Sprintf("k%02d", i)
			zeros.Data[key] = fmt.Sprintf("modelID: %s\nretentionPeriod: %s", key, zero)
			classes.Data[key] = fmt.Sprintf("name: %s\npriority: %s\ndata: [{model: %s, slo-ttft: %s}]", key, setting, key, row)
			policies.Data[key] = fmt.Sprintf("model_id: %s\nmaxScaleUpStep: %s", key, entry)
		}
		return []Source{zeros, classes, policies}
	}
	s := newStore(t)
	if r := s.Apply(version("3m", "700", "9", "5")); len(r.Findings) > 0 {
		t.Fatal(lines(r.Findings))
	}
	if r := s.Apply(version("x", "x", "x", "x")); r.Changed {
		t.Error("bad values changed what is in force")
	}
	for i := range n {
		m := scaling.ModelKey{Namespace: "team", ID: fmt.Sprintf("k%02d", i)}
		p := s.Snapshot().Policy(m)
		o, err := s.Snapshot().Objective(m, ClassRef{})
		if err != nil || o.TTFT != 700 || o.Priority != 9 || p.MaxScaleUpStep != 5 || p.ScaleToZero.Retention != 3*time.Minute {
			t.Fatalf("%s: got %+v, %v and %+v", m.ID, o, err, p)
		}
	}
}

// TestFindingsThatAreLeftOutConcernTheNamespaceOfTheirConfigMap: one that counts them
// told every variant of the cluster that its configuration is refused.
func TestFindingsThatAreLeftOutConcernTheNamespaceOfTheirConfigMap(t *testing.T) {
	of := Source{Namespace: "team", Name: system(zeroMap).Name, Data: map[string]string{}}
	for i := range 2 * mostFindings {
		of.Data[fmt.Sprintf("k%02d", i)] = "retentionPeriod: x"
	}
	s := newStore(t)
	s.Apply([]Source{of})
	if got := s.Snapshot().FindingsFor(scaling.ModelKey{Namespace: "team", ID: "m"}, ""); len(got) <= mostFindings {
		t.Errorf("its own model: got %d findings, want more than %d", len(got), mostFindings)
	}
	if got := s.Snapshot().FindingsFor(scaling.ModelKey{Namespace: "other", ID: "m"}, ""); len(got) > 0 {
		t.Errorf("a model of another namespace: got\n%s", lines(got))
	}
}

func TestQuotasKeepWhatCannotBeRead(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{system(quotaMap, "quotas", "namespaceQuotas: {team: {A100: 1}}\ndefault: {A100: 2}\nexclude: [free]")})
	r := s.Apply([]Source{system(quotaMap, "quotas", "namespaceQuotas: none\ndefault: none\nexclude: none")})
	if r.Changed || len(r.Findings) != 3 {
		t.Errorf("got %t and\n%s\nwant no change and three findings", r.Changed, lines(r.Findings))
	}
}

func TestOneDocumentMayBeMarkedAsSuch(t *testing.T) {
	for _, content := range []string{"---\nengine: model", "# why\n---\nengine: model\n---\n# the end\n", "engine: model # --- not a line of its own\n"} {
		if got := applied(t, system(saturationMap, "default", content)).Policy(llama).Engine; got != EngineQueueing {
			t.Errorf("%q: got engine %q", content, got)
		}
	}
}

func TestLongTextIsCutInFindings(t *testing.T) {
	long := strings.Repeat("é", 5000)
	s := newStore(t)
	for _, f := range s.Apply([]Source{system(settingsMap, "LOG_LEVEL", long, long, "x"), system(saturationMap, long, "{ "+long)}).Findings {
		if len(f.String()) > 1024 {
			t.Errorf("a finding of %d bytes", len(f.String()))
		}
	}
}

func TestUnitCostMayBeANumber(t *testing.T) {
	if u, ok := applied(t, system(costsMap, "A100", `{"cost": 40.5}`)).UnitCost("x", "A100"); !ok || u.Cost != 40.5 {
		t.Errorf("got %+v, %t", u, ok)
	}
}

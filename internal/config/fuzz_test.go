package config

import (
	"flag"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// FuzzApply feeds two versions of a ConfigMap of every kind to one store. Nothing
// may crash, what is in force must be within its documented range, and findings
// must be few, and the same for the same input.
func FuzzApply(f *testing.F) {
	seeds := []struct{ key, first, second string }{
		{"default", "kvCacheThreshold: 0.7", "kvCacheThreshold: .nan"},
		{"m", "model_id: meta/llama\nmaxScaleUpStep: 4", "model_id: meta/llama\nkvSpareTrigger: 1\nanalyzerName: saturation\nscaleUpThreshold: 0.1"},
		{"__defaults__", "enableScaleToZero: true\nretentionPeriod: 5m", "retentionPeriod: 999999999h"},
		{"model.x", "modelID: meta/llama\nnamespace: team", "model_id: [1]"},
		{"a", "name: A\npriority: 1\ndata: [{model: default/default, slo-tpot: 24, slo-ttft: 500}]", "priority: 0\ndata: [{model: m, slo-ttft: -1}, 3]"},
		{"A100", `{"device": "x", "cost": "40.00"}`, `{"cost": "1e9"}`},
		{"quotas", "namespaceQuotas: {team: {A100: -1}}\ndefault: {A100: 2}\nexclude: [x]", "namespaceQuotas: 1\nexclude: {}"},
		{"w", "allow: none\ndays: [Mon-Fri, 2026-12-24]\nfrom: 22:00\nto: 06:00\ntimeZone: UTC", "allow: all\ntimeZone: [UTC]\nvariant: v"},
		{"GLOBAL_OPT_INTERVAL", "30s", "-1h"},
		{"config.yaml", "WVA_EXECUTOR: reactive\nPROMETHEUS_METRICS_CACHE_TTL: 4m", "a: &a [*a]"},
		{"PROMETHEUS_BASE_URL", "https://x", "http://[::1"},
	}
	for _, s := range seeds {
		f.Add(s.key, s.first, s.second)
	}
	f.Fuzz(func(t *testing.T, key, first, second string) {
		s := newStore(t)
		for _, content := range []string{first, second} {
			var all []Source
			for _, kind := range Kinds() {
				name := PublishedNames()[kind][0]
				all = append(all, system(name, key, content), in("team", name, key, content))
			}
			report := s.Apply(all)
			checkFindings(t, report.Findings)
			checkInForce(t, s.Snapshot())
			if again := s.Apply(all); again.Changed || len(again.Fresh) > 0 {
				t.Fatalf("the same again: changed %t, new:\n%s", again.Changed, lines(again.Fresh))
			}
		}
	})
}

func checkFindings(t *testing.T, all []Finding) {
	t.Helper()
	if len(all) > 2*len(Kinds())*2*(mostFindings+1) {
		t.Fatalf("got %d findings", len(all))
	}
	for _, f := range all {
		if text := f.String(); !utf8.ValidString(text) || len(text) > 4096 || f.Problem == "" && f.Want == "" {
			t.Fatalf("a finding that says too much or nothing: %q", text)
		}
	}
}

// checkInForce holds what a snapshot says to the documented ranges.
func checkInForce(t *testing.T, s *Snapshot) {
	t.Helper()
	unit := func(x float64) bool { return x >= 0 && x <= 1 }
	for _, m := range []scaling.ModelKey{llama, {Namespace: "x", ID: "default/default"}} {
		p := s.Policy(m)
		if _, wrong := p.contradiction(); wrong || !unit(p.Saturation.KVCacheThreshold) || !unit(p.ScaleUpThreshold) || !unit(p.TTFTPercentile) ||
			!slices.Contains(Engines(), p.Engine) || p.MaxScaleUpStep < 0 || p.ScaleDownStabilization < 0 || p.ScaleDownStabilization > time.Hour ||
			p.ScaleToZero.Retention <= 0 || p.ScaleToZero.Retention > longestRetention {
			t.Fatalf("%s: got %+v", m, p)
		}
		o, err := s.Objective(m, ClassRef{classesMap, "a"})
		if err == nil && (o.Priority < 1 || o.Priority > 100 || !(o.ITL >= 0 && o.TTFT >= 0) || o.Class == "" && o.Key != "") {
			t.Fatalf("%s: got %+v", m, o)
		}
		cost, _, _ := s.ReplicaCost(m.Namespace, "", "A100", 8)
		if !(cost >= 0) || math.IsInf(cost, 0) {
			t.Fatalf("%s: a replica costs %v", m, cost)
		}
		if q := s.Quota(m.Namespace, "A100"); q < Unlimited {
			t.Fatalf("%s: quota %d", m, q)
		}
		s.FindingsFor(m, "A100")
	}
	for _, r := range s.Schedule() {
		if r.Allow != scaling.AllowNone && r.Allow != scaling.AllowGrowth || r.TimeZone == "" {
			t.Fatalf("got window %+v", r.Window)
		}
	}
	settings := s.Settings()
	if settings.Interval < time.Second || settings.Interval > time.Hour || strings.HasPrefix(settings.Prometheus.BaseURL, "http:") {
		t.Fatalf("got %+v", settings)
	}
	for _, rule := range settingRules(false) {
		if rule.broken(settings) {
			t.Fatalf("%+v breaks: %s", settings, rule.want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"LOG_LEVEL: debug", "V: 2\nLEADER_ELECT: true", "LOG_LEVL: x", "LOG_LEVEL: {a: b}", "- a", "{", "LOG_LEVEL:", "LOG_LEVEL: .inf"} {
		f.Add([]byte(seed))
	}
	known := []string{"LOG_LEVEL", "V", "LEADER_ELECT"}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := ParseFile(content, known)
		if (err == nil) != (file != nil) {
			t.Fatalf("got %v and %v", file, err)
		}
		for name, value := range file {
			if !slices.Contains(known, name) || strings.TrimSpace(value) == "" {
				t.Fatalf("accepted %q: %q", name, value)
			}
		}
	})
}

// FuzzParse reads whatever stands in a variable of the environment: the manager
// does not start, and says which one is why, or starts with what it can run with.
func FuzzParse(f *testing.F) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	settings := define(fs, &Operator{})
	for i := range settings {
		for _, value := range []string{"", "1", "-1s", "true", "https://p:9090", "a=b", "9999999999h", "\x00"} {
			f.Add(i, value)
		}
	}
	f.Fuzz(func(t *testing.T, i int, value string) {
		s := settings[uint(i)%uint(len(settings))]
		if s.env == fileSetting {
			return // another fuzz target reads files
		}
		o, err := parse(t, map[string]string{s.env: value})
		switch {
		case err == nil && o.validate(false) != nil:
			t.Errorf("%s=%q is accepted, although %v", s.env, value, o.validate(false))
		case err != nil && s.secret && len(value) > 3 && strings.Contains(err.Error(), value):
			t.Errorf("%s: the error tells a secret: %v", s.env, err)
		}
	})
}

// FuzzAliases reads texts with YAML aliases: what is accepted is not much longer once it
// is expanded, and what the text without them says is the same.
func FuzzAliases(f *testing.F) {
	for _, seed := range []string{
		"a: &x [1, 2]\nb: *x", "a: &x {b: &y [1], c: *y}\nd: {<<: *x}", "a: &a [*a]", "a: &x text\nb: [*x, *x, *x]\n", "? &k a\n: *k", "a: &x\nb: *x",
		"a: &a " + strings.Repeat("x", 300) + "\nb: [" + strings.Repeat("*a, ", 90) + "*a]", "a: &a [*b]\nb: &b [*a]", "x: &a 1\ny: &a 2\nz: *a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := decodeMapping(text)
		if err != nil {
			if len(err.Error()) > 2*longestReason {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		// JSON writes a byte in six at most.
		if size, most := len(show(tree)), 6*(len(text)+mostAliased)+1024; size > most {
			t.Fatalf("%d bytes become %d, want at most %d", len(text), size, most)
		}
	})
}

// FuzzTrust puts whatever a tenant writes into its ConfigMaps, while namespaces are not
// trusted: who comes first, and who is limited, stays what the system namespace says, and
// another namespace is decided as it is without the tenant.
func FuzzTrust(f *testing.F) {
	f.Add("WVA_TRUST_NAMESPACES", "true", "true")
	f.Add("gold", "name: G\npriority: 1\ndata: [{model: meta/llama, slo-ttft: 5}, {model: default/default, slo-tpot: 1}]", "TRUE")
	f.Add("default", "enableLimiter: false\nnamespace: other", "1")
	f.Add("config.yaml", "WVA_TRUST_NAMESPACES: true\nWVA_LIMITED_MODE: false", "yes")
	f.Add("x", "model_id: meta/llama\nnamespace: team\nenableLimiter: false", "t")
	f.Fuzz(func(t *testing.T, key, content, trust string) {
		own := []Source{
			system(PublishedNames()[KindSettings][0], trustKey, "false", "WVA_LIMITED_MODE", "true"),
			system(PublishedNames()[KindServiceClasses][0], "a", "name: A\npriority: 7\ndata: [{model: default/default, slo-tpot: 24, slo-ttft: 500}]"),
		}
		tenant := slices.Clone(own)
		for _, kind := range Kinds() {
			tenant = append(tenant, in("team", PublishedNames()[kind][0], key, content, trustKey, trust))
		}
		without, with := newStore(t), newStore(t)
		without.Apply(own)
		with.Apply(tenant)
		for _, m := range []scaling.ModelKey{{Namespace: "team", ID: "meta/llama"}, {Namespace: "other", ID: "meta/llama"}} {
			want, got := without.Snapshot().Policy(m), with.Snapshot().Policy(m)
			if got.Limited != want.Limited || got.Objective.Priority != want.Objective.Priority {
				t.Fatalf("%s is limited: %t, and of priority %d, want %t and %d", m, got.Limited, got.Objective.Priority, want.Limited, want.Objective.Priority)
			}
			if m.Namespace == "other" && got != want {
				t.Fatalf("another namespace is decided by %+v, want %+v", got, want)
			}
		}
	})
}

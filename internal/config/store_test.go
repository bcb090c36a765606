package config

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	systemNamespace = "wva-system"
	settingsMap     = "workload-variant-autoscaler-variantautoscaling-config"
	saturationMap   = "saturation-scaling-config"
	zeroMap         = "model-scale-to-zero-config"
	classesMap      = "service-classes-config"
	costsMap        = "accelerator-unit-costs"
	quotaMap        = "wva-quota-config"
	scheduleMap     = "wva-schedule-config"
)

var llama = scaling.ModelKey{Namespace: "team", ID: "meta/llama"}

// in is a ConfigMap of a namespace, from pairs of key and value.
func in(namespace, name string, pairs ...string) Source {
	m := Source{Namespace: namespace, Name: name, Data: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		m.Data[pairs[i]] = pairs[i+1]
	}
	return m
}

// system is a ConfigMap of the system namespace.
func system(name string, pairs ...string) Source { return in(systemNamespace, name, pairs...) }

func newStore(t *testing.T, change ...func(*StoreOptions)) *Store {
	t.Helper()
	options := StoreOptions{SystemNamespace: systemNamespace}
	for _, c := range change {
		c(&options)
	}
	s, err := NewStore(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// applied is the snapshot of a new store with these ConfigMaps, which must be
// without findings.
func applied(t *testing.T, all ...Source) *Snapshot {
	t.Helper()
	s := newStore(t)
	for _, f := range s.Apply(all).Findings {
		t.Errorf("finding: %s", f)
	}
	return s.Snapshot()
}

// lines are the findings, one in a line.
func lines(all []Finding) string {
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = string(f.Severity) + " " + f.String()
	}
	return strings.Join(out, "\n")
}

// wantFinding fails unless exactly one finding says all of the parts.
func wantFinding(t *testing.T, all []Finding, parts ...string) {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("got %d findings, want 1:\n%s", len(all), lines(all))
	}
	for _, part := range parts {
		if !strings.Contains(lines(all), part) {
			t.Errorf("got %s\nwant it to say %q", lines(all), part)
		}
	}
}

func TestDefaultsHoldWithoutConfigMaps(t *testing.T) {
	s := newStore(t)
	before := s.Snapshot()
	if r := s.Apply(nil); r.Changed || len(r.Findings) > 0 {
		t.Errorf("got %+v, want nothing", r)
	}
	for _, snapshot := range []*Snapshot{before, s.Snapshot()} {
		p := snapshot.Policy(llama)
		if p.Saturation.KVCacheThreshold != 0.8 || p.ScaleDownStabilization != 2*time.Minute || p.ScaleToZero != (ScaleToZero{Retention: 10 * time.Minute}) {
			t.Errorf("got %+v, want the defaults", p)
		}
		if got := snapshot.Settings().Interval; got != time.Minute {
			t.Errorf("got interval %s, want 1m", got)
		}
		if got := snapshot.Quota("team", "A100"); got != Unlimited {
			t.Errorf("got quota %d, want none", got)
		}
	}
}

func TestBadEntryKeepsTheLastGoodOneAndTheOthersApply(t *testing.T) {
	tests := []struct {
		name       string
		good, bad  Source
		finding    []string
		unaffected func(*Snapshot) any // another entry, which the second changes
		kept       func(*Snapshot) any
		want       any // of kept, after the bad one
		fresh      any // of kept, where the bad one is the first
		changed    any // of unaffected
	}{
		{
			name:       "setting",
			good:       system(settingsMap, "GLOBAL_OPT_INTERVAL", "30s"),
			bad:        system(settingsMap, "GLOBAL_OPT_INTERVAL", "2h", "LOG_LEVEL", "debug"),
			finding:    []string{"refused ConfigMap wva-system/" + settingsMap + ", GLOBAL_OPT_INTERVAL: \"2h\" is not accepted: want a duration from 1s to 1h; in force: the last good value 30s"},
			kept:       func(s *Snapshot) any { return s.Settings().Interval },
			want:       30 * time.Second,
			fresh:      time.Minute,
			unaffected: func(s *Snapshot) any { return s.Settings().LogLevel },
			changed:    "debug",
		},
		{
			name:       "saturation",
			good:       system(saturationMap, "default", "kvCacheThreshold: 0.7\nqueueLengthThreshold: 9"),
			bad:        system(saturationMap, "default", "kvCacheThreshold: 1.1\nqueueLengthThreshold: 8", "m", "model_id: meta/llama\nmaxScaleUpStep: 4"),
			finding:    []string{", default, kvCacheThreshold: \"1.1\" is not accepted: want a ratio from 0 to 1; in force: the last good entry"},
			kept:       func(s *Snapshot) any { return s.Policy(llama).Saturation.QueueLengthThreshold },
			want:       9.0,
			fresh:      5.0,
			unaffected: func(s *Snapshot) any { return s.Policy(llama).MaxScaleUpStep },
			changed:    4,
		},
		{
			name:       "retention",
			good:       system(zeroMap, "__defaults__", "retentionPeriod: 2h"),
			bad:        system(zeroMap, "__defaults__", "retentionPeriod: -5m\nenableScaleToZero: true"),
			finding:    []string{"__defaults__, retentionPeriod: \"-5m\" is not accepted: want a duration above 0, up to 8760h; in force: the last good value 2h"},
			kept:       func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Retention },
			want:       2 * time.Hour,
			fresh:      10 * time.Minute,
			unaffected: func(s *Snapshot) any { return s.Policy(llama).ScaleToZero.Enabled },
			changed:    true,
		},
		{
			name:    "row of a class",
			good:    system(classesMap, "a", "name: A\npriority: 1\ndata:\n- {model: meta/llama, slo-ttft: 500}"),
			bad:     system(classesMap, "a", "name: A\npriority: 2\ndata:\n- {model: meta/llama, slo-ttft: -1}"),
			finding: []string{"a, data[0].slo-ttft: \"-1\" is not accepted", "in force: the last good row"},
			kept: func(s *Snapshot) any {
				o, _ := s.Objective(llama, ClassRef{})
				return o.TTFT
			},
			want:       500.0,
			fresh:      0.0,
			unaffected: func(s *Snapshot) any { return s.system.classes.Classes[0].Fields["priority"] },
			changed:    2,
		},
		{
			name:    "unit cost",
			good:    system(costsMap, "A100", `{"device": "x", "cost": "40.00"}`),
			bad:     system(costsMap, "A100", `{"device": "x", "cost": "free"}`, "L40S", `{"cost": "32"}`),
			finding: []string{"A100, cost: \"free\" is not accepted", "in force: the last good entry"},
			kept: func(s *Snapshot) any {
				u, _ := s.UnitCost("team", "A100")
				return u.Cost
			},
			want:  40.0,
			fresh: 0.0,
			unaffected: func(s *Snapshot) any {
				u, _ := s.UnitCost("team", "L40S")
				return u.Cost
			},
			changed: 32.0,
		},
		{
			name:       "quota",
			good:       system(quotaMap, "quotas", "namespaceQuotas: {team: {A100: 3}}"),
			bad:        system(quotaMap, "quotas", "namespaceQuotas: {team: {A100: -2}, other: {A100: 1}}"),
			finding:    []string{"quotas, namespaceQuotas.team.A100: \"-2\" is not accepted", "in force: the last good list"},
			kept:       func(s *Snapshot) any { return s.Quota("team", "A100") },
			want:       3,
			fresh:      Unlimited,
			unaffected: func(s *Snapshot) any { return s.Quota("other", "A100") },
			changed:    1,
		},
		{
			name:       "schedule",
			good:       system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 23:00"),
			bad:        system(scheduleMap, "w", "allow: none\ntimeZone: Europe/Atlantis", "x", "allow: growth\ntimeZone: UTC\nvariant: other\nto: 23:00"),
			finding:    []string{"w, timeZone: \"Europe/Atlantis\" is not accepted", "in force: the last good entry"},
			kept:       func(s *Snapshot) any { return frozen(s) != "" },
			want:       true,
			fresh:      false,
			unaffected: func(s *Snapshot) any { return s.Schedule()[len(s.Schedule())-1].Name },
			changed:    "x",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			if r := s.Apply([]Source{tt.good}); !r.Changed || len(r.Findings) > 0 {
				t.Fatalf("good: got %+v", r)
			}
			for range 2 { // the second time nothing is new
				wantFinding(t, s.Apply([]Source{tt.bad}).Findings, tt.finding...)
				if got := tt.kept(s.Snapshot()); got != tt.want {
					t.Errorf("kept: got %v, want %v", got, tt.want)
				}
				if got := tt.unaffected(s.Snapshot()); got != tt.changed {
					t.Errorf("other: got %v, want %v", got, tt.changed)
				}
			}
			if r := s.Apply([]Source{tt.bad}); r.Changed || len(r.Fresh) > 0 {
				t.Errorf("again: got %+v, want nothing new", r)
			}
			s.Apply(nil) // deleted: what was good is forgotten
			s.Apply([]Source{tt.bad})
			if got := tt.kept(s.Snapshot()); got != tt.fresh {
				t.Errorf("after deletion: got %v, want %v", got, tt.fresh)
			}
		})
	}
}

func TestTextThatDoesNotParseKeepsTheLastGoodEntry(t *testing.T) {
	good := []Source{
		system(settingsMap, "config.yaml", "GLOBAL_OPT_INTERVAL: 30s"),
		system(saturationMap, "default", "maxScaleUpStep: 2", "m", "model_id: meta/llama\nmaxScaleDownStep: 7"),
		system(zeroMap, "x", "model_id: meta/llama\nenable_scale_to_zero: true"),
		system(classesMap, "a", "name: A\ndata: [{model: meta/llama, slo-tpot: 20}]"),
		system(costsMap, "A100", `{"cost": "40"}`),
		system(quotaMap, "quotas", "default: {A100: 2}"),
		system(scheduleMap, "w", "allow: none\ntimeZone: UTC\nto: 23:00"),
	}
	bad := make([]Source, len(good))
	for i, m := range good {
		bad[i] = Source{Namespace: m.Namespace, Name: m.Name, Data: map[string]string{}}
		for key := range m.Data {
			bad[i].Data[key] = "{ not: [yaml"
		}
	}
	s := newStore(t)
	s.Apply(good)
	r := s.Apply(bad)
	if r.Changed || len(r.Findings) != 8 {
		t.Errorf("got changed %t and\n%s\nwant nothing changed and 8 findings", r.Changed, lines(r.Findings))
	}
	for _, f := range r.Findings {
		if !strings.Contains(f.String(), "is not read: ") || !strings.Contains(f.InForce, "last good") {
			t.Errorf("got %s, want that it is not read and what holds", f)
		}
	}
	if got := s.Snapshot().Policy(llama).MaxScaleDownStep; got != 7 {
		t.Errorf("got step %d, want the last good 7", got)
	}
}

func TestUnknownKeysAreNamedWithTheNearest(t *testing.T) {
	tests := []struct {
		m    Source
		want []string
	}{
		{system(settingsMap, "GLOBAL_OPT_INTERVL", "30s"), []string{"GLOBAL_OPT_INTERVL: is not known; did you mean GLOBAL_OPT_INTERVAL?"}},
		{system(settingsMap, "config.yaml", "WVA_EXECUTER: polling"), []string{"did you mean WVA_EXECUTOR?"}},
		{system(saturationMap, "default", "kv_cache_threshold: 0.7"), []string{"default, kv_cache_threshold: is not known; did you mean kvCacheThreshold?"}},
		{system(zeroMap, "__defaults__", "retention: 5m\nretentionPeriods: 5m"), []string{"did you mean retentionPeriod?"}},
		{system(classesMap, "a", "data: [{model: m, slo-itl: 5, slo-ttft: 1}]"), []string{"data[0].slo-itl: is not known"}},
		{system(costsMap, "A100", `{"cost": "1", "devise": "x"}`), []string{"did you mean device?"}},
		{system(quotaMap, "quota", "default: {}"), []string{"quota: is not known; did you mean quotas?"}},
		{system(saturationMap, "defaults", "maxScaleUpStep: 2"), []string{"model_id: is missing", "did you mean default?"}},
		{system(saturationMap, "m", "modelID: x\nmaxScaleUpStep: 2"), []string{"model_id: is missing"}},
	}
	for _, tt := range tests {
		all := lines(newStore(t).Apply([]Source{tt.m}).Findings)
		for _, want := range tt.want {
			if !strings.Contains(all, want) {
				t.Errorf("got %s\nwant %q", all, want)
			}
		}
	}
}

func TestUnknownFieldLeavesTheOthersOfItsEntryInForce(t *testing.T) {
	s := newStore(t)
	wantFinding(t, s.Apply([]Source{system(saturationMap, "default", "kvCacheThreshold: 0.6\nfuture: 1")}).Findings, "future: is not known")
	if got := s.Snapshot().Policy(llama).Saturation.KVCacheThreshold; got != 0.6 {
		t.Errorf("got %v, want 0.6", got)
	}
}

func TestDeletionOfAConfigMapReturnsToDefaults(t *testing.T) {
	s := newStore(t)
	all := []Source{
		system(settingsMap, "GLOBAL_OPT_INTERVAL", "5s"), system(saturationMap, "default", "maxScaleUpStep: 2"),
		in("team", saturationMap, "default", "maxScaleDownStep: 5"),
	}
	s.Apply(all)
	if r := s.Apply(all[:1]); !r.Changed {
		t.Error("got no change")
	}
	if p := s.Snapshot().Policy(llama); p.MaxScaleUpStep != 0 || p.MaxScaleDownStep != StepAuto {
		t.Errorf("got %+v, want the default steps", p)
	}
	if got := s.Snapshot().Settings().Interval; got != 5*time.Second {
		t.Errorf("got interval %s, want the other ConfigMap untouched", got)
	}
}

func TestFirstNameWinsAndTheIgnoredOneIsNamed(t *testing.T) {
	for kind, names := range PublishedNames() {
		for i, name := range names[1:] {
			s := newStore(t)
			r := s.Apply([]Source{system(name), system(names[0])})
			wantFinding(t, r.Findings, "doubtful ConfigMap wva-system/"+name+": is ignored", "in force: "+names[0])
			if kind == KindSaturation {
				s.Apply([]Source{system(name, "default", "maxScaleUpStep: 3")})
				if got := s.Snapshot().Policy(llama).MaxScaleUpStep; got != 3 {
					t.Errorf("%d: %s alone is not read", i, name)
				}
			}
		}
	}
}

func TestNameFromTheEnvironmentIsReadFirst(t *testing.T) {
	names := PublishedNames().With(KindSaturation, "release-saturation")
	s := newStore(t, func(o *StoreOptions) { o.Names = names })
	r := s.Apply([]Source{system(saturationMap, "default", "maxScaleUpStep: 1"), system("release-saturation", "default", "maxScaleUpStep: 2")})
	wantFinding(t, r.Findings, saturationMap+": is ignored")
	if got := s.Snapshot().Policy(llama).MaxScaleUpStep; got != 2 {
		t.Errorf("got %d, want that of the name given", got)
	}
	if near := names.Nearest("wva-saturation-scaling-config-"); near != "wva-saturation-scaling-config" {
		t.Errorf("nearest: got %q", near)
	}
	if near := names.Nearest("my-release-accelerator-unit-costs"); near != "accelerator-unit-costs" {
		t.Errorf("prefixed: got %q", near)
	}
}

func TestExplicitValuesWinOverConfigMaps(t *testing.T) {
	flags := File{"GLOBAL_OPT_INTERVAL": "10s"}
	environment := File{"GLOBAL_OPT_INTERVAL": "11s", "LOG_LEVEL": "warn", "WVA_SCALE_TO_ZERO": "TRUE", "WVA_EXECUTOR": ""}
	file := File{"LOG_LEVEL": "error", "WVA_EXECUTOR": "polling"}
	s := newStore(t, func(o *StoreOptions) {
		o.Explicit = Places{{"a flag", flags.Lookup}, {"the environment", environment.Lookup}, {"the file", file.Lookup}}
	})
	r := s.Apply([]Source{
		system(settingsMap, "GLOBAL_OPT_INTERVAL", "30s", "LOG_LEVEL", "debug", "WVA_LIMITED_MODE", "true"),
		in("team", settingsMap, "WVA_SCALE_TO_ZERO", "false"),
	})
	got := s.Snapshot().Settings()
	if got.Interval != 10*time.Second || got.LogLevel != "warn" || got.Executor != ExecutorPolling || !got.LimitedMode {
		t.Errorf("got %+v, want 10s of the flag, warn of the environment, polling of the file, limited of the ConfigMap", got)
	}
	if !s.Snapshot().Policy(llama).ScaleToZero.Enabled {
		t.Error("a ConfigMap of a namespace won over the environment")
	}
	for _, want := range []string{"GLOBAL_OPT_INTERVAL: is overridden by a flag", "LOG_LEVEL: is overridden by the environment", "team/" + settingsMap + ", WVA_SCALE_TO_ZERO: is overridden"} {
		if !strings.Contains(lines(r.Findings), want) {
			t.Errorf("got\n%s\nwant %q", lines(r.Findings), want)
		}
	}
	if _, err := NewStore(StoreOptions{Explicit: Places{{"a flag", File{"PROMETHEUS_METRICS_CACHE_TTL": "6m"}.Lookup}}}); err == nil || !strings.Contains(err.Error(), "not above PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD") {
		t.Errorf("got %v, want an error that names the rule", err)
	}
	const http = "HTTPS is required - URL must use https:// scheme: http://u:xxxxx@p" // as it was published, and without the password
	if _, err := NewStore(StoreOptions{Explicit: Places{{"a flag", File{"PROMETHEUS_BASE_URL": "http://u:secret@p"}.Lookup}}}); err == nil || !strings.HasSuffix(err.Error(), ": "+http) {
		t.Errorf("plain http: got %v, want %s", err, http)
	}
	if _, err := NewStore(StoreOptions{Explicit: Places{{"a flag", File{"LOG_LEVEL": "loud"}.Lookup}}}); err == nil || !strings.Contains(err.Error(), `LOG_LEVEL: "loud" is not accepted: want one of debug`) {
		t.Errorf("got %v, want an error", err)
	}
}

func TestTenThousandKeysAreReadInBoundedTimeAndFindings(t *testing.T) {
	const n = 10_000
	contents := map[string]string{
		settingsMap: "x", saturationMap: "kvCacheThreshold: 2", zeroMap: "retentionPeriod: never",
		classesMap: "priority: 0", costsMap: `{"cost": "NaN"}`, quotaMap: "x",
	}
	for name, content := range contents {
		m := system(name)
		for i := range n {
			m.Data[fmt.Sprintf("GLOBAL_OPT_INTERVAL%d", i)] = content
		}
		s := newStore(t)
		s.Apply([]Source{m})
		r := s.Apply([]Source{m})
		if got := len(r.Findings); got == 0 || got > 2*(mostFindings+1) {
			t.Errorf("%s: got %d findings, want some, and no more than %d", name, got, 2*(mostFindings+1))
		}
		if !strings.Contains(lines(r.Findings), "more of this kind are not listed") {
			t.Errorf("%s: the findings left out are not counted:\n%s", name, lines(r.Findings))
		}
	}
	m := system(saturationMap)
	for i := range n {
		m.Data[fmt.Sprintf("k%d", i)] = fmt.Sprintf("model_id: m%d\nmaxScaleUpStep: %d", i, i%100)
	}
	snapshot := applied(t, m)
	if got := snapshot.Policy(scaling.ModelKey{Namespace: "team", ID: "m4242"}).MaxScaleUpStep; got != 42 {
		t.Errorf("got %d, want 42", got)
	}
}

func TestFindingsConcernTheModelsOfTheirEntry(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{
		system(saturationMap, "a", "model_id: other\nengine: x", "b", "namespace: team\nengine: x"),
		system(costsMap, "A100", `{"cost": "x"}`),
		in("elsewhere", zeroMap, "__defaults__", "retentionPeriod: x"),
	})
	got := s.Snapshot().FindingsFor(llama, "L40S")
	wantFinding(t, got, ", b, engine")
	if all := s.Snapshot().Findings(); len(all) != 4 {
		t.Errorf("got %d findings in all, want 4:\n%s", len(all), lines(all))
	}
	if got := s.Snapshot().FindingsFor(llama, "A100"); len(got) != 2 {
		t.Errorf("on A100: got %d findings, want 2:\n%s", len(got), lines(got))
	}
}

func TestSnapshotDoesNotChange(t *testing.T) {
	s := newStore(t)
	m := system(settingsMap, "PROMETHEUS_HEADERS", "X-Scope-OrgID=a")
	data := maps.Clone(m.Data)
	s.Apply([]Source{m})
	if diff := cmp.Diff(data, m.Data); diff != "" {
		t.Errorf("the ConfigMap was changed (-was +is):\n%s", diff)
	}
	before := s.Snapshot()
	m.Data["PROMETHEUS_HEADERS"] = "X-Scope-OrgID=b"
	before.Settings().Prometheus.Headers["X-Scope-OrgID"] = "c"
	s.Apply(nil)
	if got := before.Settings().Prometheus.Headers["X-Scope-OrgID"]; got != "a" {
		t.Errorf("got %q, want a as at first", got)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 20 {
				s.Apply([]Source{system(saturationMap, "default", fmt.Sprintf("maxScaleUpStep: %d", i+n))})
				if p := s.Snapshot().Policy(llama); p.MaxScaleUpStep > 23 {
					t.Errorf("got step %d", p.MaxScaleUpStep)
				}
				s.Snapshot().Settings()
			}
		})
	}
	wg.Wait()
}

func TestSecretsAreNotRepeated(t *testing.T) {
	s := newStore(t, func(o *StoreOptions) {
		o.Explicit = Places{{"the environment", File{"PROMETHEUS_PASSWORD": "explicit"}.Lookup}}
	})
	r := s.Apply([]Source{system(settingsMap, "PROMETHEUS_HEADERS", "swordfish", "PROMETHEUS_PASSWORD", "swordfish")})
	if text := lines(r.Findings); strings.Contains(text, "swordfish") || !strings.Contains(text, `PROMETHEUS_HEADERS: "(hidden)" is not accepted`) {
		t.Errorf("got\n%s\nwant the value hidden", text)
	}
	_, err := NewStore(StoreOptions{Explicit: Places{{"a flag", File{"PROMETHEUS_HEADERS": "swordfish"}.Lookup}}})
	if err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("got %v, want an error that hides the value", err)
	}
}

// TestOfANamespaceSoMuchIsRead: entries without number kept their reader busy.
func TestOfANamespaceSoMuchIsRead(t *testing.T) {
	many := map[string]string{}
	for n := range 10_000 {
		many[fmt.Sprintf("e%05d", n)] = fmt.Sprintf("modelID: m-%05d\nenableScaleToZero: true\n", n)
	}
	most := mostRead / (keyBytes + len("e00000") + len(many["e00000"]))
	for _, namespace := range []string{"team", systemNamespace} {
		s := newStore(t)
		report := s.Apply([]Source{{namespace, zeroMap, many}, {"other", zeroMap, map[string]string{"e": "modelID: m\nenableScaleToZero: true\n"}}})
		zero := func(namespace string, n int) bool {
			return s.Snapshot().Policy(scaling.ModelKey{Namespace: namespace, ID: fmt.Sprintf("m-%05d", n)}).ScaleToZero.Enabled
		}
		all := namespace == systemNamespace
		if !zero(namespace, most-1) || zero(namespace, most) != all {
			t.Errorf("%s: entry %d is in force: %t, entry %d: %t", namespace, most-1, zero(namespace, most-1), most, zero(namespace, most))
		}
		told := slices.ContainsFunc(report.Findings, func(f Finding) bool {
			return f.Severity == Refused && f.Namespace == namespace && strings.HasPrefix(f.Problem, fmt.Sprint(10_000-most, " keys are not read"))
		})
		if told == all {
			t.Errorf("%s: findings: %s", namespace, lines(report.Findings))
		}
		if !s.Snapshot().Policy(scaling.ModelKey{Namespace: "other", ID: "m"}).ScaleToZero.Enabled {
			t.Errorf("beside %s the entry of another namespace is not in force", namespace)
		}
	}
}

// TestWhatDidNotChangeIsAsIfReadAgain applies drawn ConfigMaps to a store, and to one that
// remembers nothing of what it read but what was good.
func TestWhatDidNotChangeIsAsIfReadAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"kvCacheThreshold: 0.7", "kvCacheThreshold: 7", "kvSpareTrigger: 0.2\nkvCacheThreshold: x", "", "queueLengthThreshold: 3", "["}
	remembers, forgets := newStore(t), newStore(t)
	now := map[string]Source{}
	for step := range 500 {
		namespace := []string{"a", "b", "c", systemNamespace}[r.IntN(4)]
		switch r.IntN(4) {
		case 0:
			delete(now, namespace)
		default:
			now[namespace] = in(namespace, saturationMap, "default", texts[r.IntN(len(texts))])
		}
		all := slices.Collect(maps.Values(now))
		forgets.known = nil
		got, want := remembers.Apply(all), forgets.Apply(all)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d: report (-read again +remembered):\n%s", step, diff)
		}
		if a, b := forgets.Snapshot(), remembers.Snapshot(); !reflect.DeepEqual(a.system, b.system) || !sameLayers(a.layers, b.layers) {
			t.Fatalf("step %d: %+v read again, %+v remembered", step, a.layers, b.layers)
		}
	}
}

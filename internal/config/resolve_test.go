package config

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestOverridesInheritWhatTheyDoNotName(t *testing.T) {
	system1 := system(saturationMap,
		"default", "kvCacheThreshold: 0.7\nmaxScaleUpStep: 1\nmaxScaleDownStep: 11\nengine: model",
		"a", "namespace: team\nmaxScaleUpStep: 2\nqueueLengthThreshold: 22",
		"b", "model_id: meta/llama\nmaxScaleUpStep: 3\nmaxScaleDownStep: 33",
		"c", "model_id: meta/llama\nnamespace: team\nmaxScaleUpStep: 4",
	)
	local := in("team", saturationMap, "default", "maxScaleUpStep: 5", "mine", "model_id: meta/llama\nenableLimiter: true")
	tests := []struct {
		model                  scaling.ModelKey
		up, down               int
		queue                  float64
		limited                bool
		upWithLocal            int
		limitedOnlyWithItsOwns bool
	}{
		{scaling.ModelKey{Namespace: "x", ID: "x"}, 1, 11, 5, false, 1, false},
		{scaling.ModelKey{Namespace: "team", ID: "x"}, 2, 11, 22, false, 5, false},
		{scaling.ModelKey{Namespace: "x", ID: "meta/llama"}, 3, 33, 5, false, 3, false},
		{llama, 4, 33, 22, false, 5, true},
	}
	alone, both := applied(t, system1), applied(t, system1, local)
	for _, tt := range tests {
		p := alone.Policy(tt.model)
		if p.MaxScaleUpStep != tt.up || p.MaxScaleDownStep != tt.down || p.Saturation.QueueLengthThreshold != tt.queue || p.Saturation.KVCacheThreshold != 0.7 || p.Engine != EngineQueueing {
			t.Errorf("%s: got %+v, want steps %d and %d, queue %v", tt.model, p, tt.up, tt.down, tt.queue)
		}
		p = both.Policy(tt.model)
		if p.MaxScaleUpStep != tt.upWithLocal || p.MaxScaleDownStep != tt.down || p.Limited != tt.limitedOnlyWithItsOwns {
			t.Errorf("%s with its namespace's: got %+v, want step %d, the rest inherited", tt.model, p, tt.upWithLocal)
		}
	}
}

func TestEntryThatContradictsWhatItInheritsIsRefused(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{system(saturationMap, "m", "model_id: meta/llama\nkvSpareTrigger: 0.4")})
	r := s.Apply([]Source{system(saturationMap, "m", "model_id: meta/llama\nkvSpareTrigger: 0.9")})
	wantFinding(t, r.Findings, ", m: contradicts itself or what it inherits: want kvCacheThreshold (0.8) at least kvSpareTrigger (0.9); in force: the last good entry")
	if got := s.Snapshot().Policy(llama).Saturation.KVSpareTrigger; got != 0.4 {
		t.Errorf("got %v, want the last good 0.4", got)
	}
	// Now what it inherits leaves no room for the last good one either.
	r = s.Apply([]Source{system(saturationMap, "default", "kvCacheThreshold: 0.3", "m", "model_id: meta/llama\nkvSpareTrigger: 0.9")})
	wantFinding(t, r.Findings, "in force: what it inherits")
	if got := s.Snapshot().Policy(llama).Saturation.KVSpareTrigger; got != 0.1 {
		t.Errorf("got %v, want the default 0.1", got)
	}
}

func TestEntriesThatOnlyTogetherContradictArePassedOverAndNamed(t *testing.T) {
	s := newStore(t)
	s.Apply([]Source{
		system(saturationMap, "m", "model_id: meta/llama\nkvSpareTrigger: 0.6"),
		in("team", saturationMap, "default", "kvCacheThreshold: 0.5"),
	})
	if got := s.Snapshot().Policy(llama).Saturation; got.KVSpareTrigger != 0.6 || got.KVCacheThreshold != 0.8 {
		t.Errorf("got %+v, want the namespace's entry passed over", got)
	}
	wantFinding(t, s.Snapshot().FindingsFor(llama, ""), "ConfigMap team/"+saturationMap+", default: contradicts what else holds for the model")
	if other := s.Snapshot().Policy(scaling.ModelKey{Namespace: "team", ID: "other"}); other.Saturation.KVCacheThreshold != 0.5 {
		t.Errorf("got %+v, want it in force for others", other.Saturation)
	}
}

func TestLimitedModeHoldsWhereTheLimiterIsNotSet(t *testing.T) {
	s := applied(t, system(settingsMap, "WVA_LIMITED_MODE", "true"), system(saturationMap, "m", "model_id: meta/llama\nenableLimiter: false"))
	if s.Policy(llama).Limited || !s.Policy(scaling.ModelKey{Namespace: "team", ID: "x"}).Limited {
		t.Error("want limited mode for every model but the one that says no")
	}
	s = applied(t, in("team", settingsMap, "WVA_LIMITED_MODE", "true"))
	if !s.Policy(llama).Limited || s.Policy(scaling.ModelKey{Namespace: "x", ID: "x"}).Limited {
		t.Error("want limited mode in the namespace that says so, and there alone")
	}
}

func TestSettingOfTheManagerIsRefusedInOtherNamespaces(t *testing.T) {
	s := newStore(t)
	wantFinding(t, s.Apply([]Source{in("team", settingsMap, "GLOBAL_OPT_INTERVAL", "5s")}).Findings, "is of the whole manager and is read in the system namespace only, which is "+systemNamespace+" here")
	if got := s.Snapshot().Settings().Interval; got != time.Minute {
		t.Errorf("got %s, want 1m", got)
	}
	s = newStore(t)
	wantFinding(t, s.Apply([]Source{in("team", quotaMap, "quotas", "exclude: [team]")}).Findings, "no namespace sets its own quota")
}

func TestBadSettingOfANamespaceLeavesWhatHoldsForAll(t *testing.T) {
	s := newStore(t)
	r := s.Apply([]Source{system(settingsMap, "WVA_SCALE_TO_ZERO", "true"), in("team", settingsMap, "WVA_SCALE_TO_ZERO", "perhaps")})
	wantFinding(t, r.Findings, `WVA_SCALE_TO_ZERO: "perhaps" is not accepted: want true or false; in force: what holds in the system namespace`)
	if !s.Snapshot().Policy(llama).ScaleToZero.Enabled {
		t.Error("want scale to zero, as the system namespace says")
	}
}

func TestOrderOfConfigMapsDoesNotMatter(t *testing.T) {
	all := []Source{
		system(settingsMap, "LOG_LEVEL", "debug", "typo", "1"),
		system("variantautoscaling-config", "LOG_LEVEL", "warn"),
		system(saturationMap, "default", "kvCacheThreshold: 0.5", "m", "model_id: meta/llama\nkvSpareTrigger: 0.6"),
		in("team", saturationMap, "default", "engine: model"),
		in("other", saturationMap, "default", "engine: nonsense"),
		in("team", zeroMap, "default", "retention_period: 1s"),
		system(zeroMap, "a", "modelID: meta/llama\nenableScaleToZero: true"),
	}
	want := newStore(t)
	first := want.Apply(all)
	if len(first.Findings) < 3 {
		t.Fatalf("got\n%s\nwant several findings", lines(first.Findings))
	}
	r := rand.New(rand.NewPCG(4, 2))
	for range 20 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got := newStore(t)
		if diff := cmp.Diff(first, got.Apply(all)); diff != "" {
			t.Fatalf("report (-first +shuffled):\n%s", diff)
		}
		if diff := cmp.Diff(want.Snapshot().Policy(llama), got.Snapshot().Policy(llama)); diff != "" {
			t.Fatalf("policy (-first +shuffled):\n%s", diff)
		}
	}
}

func BenchmarkApplyTenThousandOverrides(b *testing.B) {
	m := system(saturationMap)
	for i := range 10_000 {
		m.Data[fmt.Sprintf("k%d", i)] = fmt.Sprintf("model_id: m%d\nmaxScaleUpStep: %d", i, i%100)
	}
	s, err := NewStore(StoreOptions{SystemNamespace: systemNamespace})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Apply([]Source{m})
	}
}

func BenchmarkPolicy(b *testing.B) {
	s, err := NewStore(StoreOptions{SystemNamespace: systemNamespace})
	if err != nil {
		b.Fatal(err)
	}
	s.Apply([]Source{
		system(saturationMap, "default", "maxScaleUpStep: 2", "m", "model_id: meta/llama\nengine: model"),
		system(zeroMap, "__defaults__", "enableScaleToZero: true"),
	})
	for b.Loop() {
		s.Snapshot().Policy(llama)
	}
}

func TestSettingsThatContradictEachOtherAreTakenBack(t *testing.T) {
	const c = "PROMETHEUS_METRICS_CACHE_"
	tests := []struct {
		name    string
		last    []string
		now     []string
		finding string
		seen    func(Settings) any
		want    any
	}{
		{"default in the way", nil, []string{c + "FRESH_THRESHOLD", "10m"}, "FRESH_THRESHOLD: \"10m\" is not accepted: want " + c + "FRESH_THRESHOLD not above", func(s Settings) any { return s.Cache.FreshThreshold }, time.Minute},
		{"last good kept", []string{c + "TTL", "4m"}, []string{c + "TTL", "6m"}, "in force: the last good value 4m", func(s Settings) any { return s.Cache.TTL }, 4 * time.Minute},
		{"what is new is taken back", []string{c + "TTL", "4m"}, []string{c + "TTL", "4m", c + "UNAVAILABLE_THRESHOLD", "2m"}, "UNAVAILABLE_THRESHOLD: \"2m\"", func(s Settings) any { return s.Cache.UnavailableThreshold }, 5 * time.Minute},
		{"reactive without background fetching", nil, []string{"WVA_EXECUTOR", "reactive", c + "FETCH_INTERVAL", "0"}, "WVA_EXECUTOR: \"reactive\" is not accepted", func(s Settings) any { return s.Executor }, ExecutorHybrid},
		{"plain http", nil, []string{"PROMETHEUS_BASE_URL", "http://p:9090"}, "HTTPS is required - URL must use https:// scheme: http://p:9090", func(s Settings) any { return s.Prometheus.BaseURL }, ""},
		{"plain http after a password", []string{"PROMETHEUS_BASE_URL", "https://u:secret@p"}, []string{"PROMETHEUS_BASE_URL", "http://p"}, "in force: the last good value https://u:xxxxx@p", func(s Settings) any { return s.Prometheus.BaseURL }, "https://u:secret@p"},
		{"plain http with a password", nil, []string{"PROMETHEUS_BASE_URL", "http://u:secret@p"}, "HTTPS is required - URL must use https:// scheme: http://u:xxxxx@p", func(s Settings) any { return s.Prometheus.BaseURL }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			s.Apply([]Source{system(settingsMap, tt.last...)})
			wantFinding(t, s.Apply([]Source{system(settingsMap, tt.now...)}).Findings, tt.finding)
			if got := tt.seen(s.Snapshot().Settings()); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	s := newStore(t, func(o *StoreOptions) { o.AllowInsecurePrometheus = true })
	if r := s.Apply([]Source{system(settingsMap, "PROMETHEUS_BASE_URL", "http://p:9090")}); len(r.Findings) > 0 {
		t.Errorf("allowed http: got %s", lines(r.Findings))
	}
}

func TestObjectiveIsThatOfTheMostSpecificRow(t *testing.T) {
	classes := system(classesMap,
		"b", "name: B\npriority: 2\ndata:\n- {model: meta/llama, slo-tpot: 2}\n- {model: default/default, namespace: team, slo-tpot: 3}",
		"a", "name: A\npriority: 1\ndata:\n- {model: default/default, slo-tpot: 4, slo-ttft: 400}\n- {model: special, namespace: team, slo-tpot: 1}\n- {model: special, slo-tpot: 9}",
	)
	model := func(namespace, id string) scaling.ModelKey { return scaling.ModelKey{Namespace: namespace, ID: id} }
	tests := []struct {
		name  string
		model scaling.ModelKey
		ref   ClassRef
		want  Objective
	}{
		{"namespace and model", model("team", "special"), ClassRef{}, Objective{Class: "A", Key: "a", Priority: 1, ITL: 1, Level: LevelNamespacedModel}},
		{"model", llama, ClassRef{}, Objective{Class: "B", Key: "b", Priority: 2, ITL: 2, Level: LevelModel}},
		{"default of the namespace", model("team", "x"), ClassRef{}, Objective{Class: "B", Key: "b", Priority: 2, ITL: 3, Level: LevelNamespace}},
		{"default", model("x", "x"), ClassRef{}, Objective{Class: "A", Key: "a", Priority: 1, ITL: 4, TTFT: 400, Level: LevelDefault}},
		{"reference wins", llama, ClassRef{classesMap, "a"}, Objective{Class: "A", Key: "a", Priority: 1, ITL: 4, TTFT: 400, Level: LevelDefault}},
		{"reference to another name of the kind", llama, ClassRef{"serviceclass", "b"}, Objective{Class: "B", Key: "b", Priority: 2, ITL: 2, Level: LevelModel}},
		{"reference to no class", llama, ClassRef{classesMap, "c"}, Objective{Class: "B", Key: "b", Priority: 2, ITL: 2, Level: LevelModel, Unfollowed: `sloClassRef names the key "c", which holds no service class`}},
		{"reference to a class without the model", model("x", "x"), ClassRef{classesMap, "b"}, Objective{Class: "A", Key: "a", Priority: 1, ITL: 4, TTFT: 400, Level: LevelDefault, Unfollowed: `sloClassRef names the key "b", which has no row for the model`}},
		{"reference to another ConfigMap", llama, ClassRef{"premium-slo", "opt-125m"}, Objective{Class: "B", Key: "b", Priority: 2, ITL: 2, Level: LevelModel, Unfollowed: `sloClassRef names the ConfigMap "premium-slo", which is not read: want one of service-classes-config, serviceclass`}},
	}
	s := applied(t, classes)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Objective(tt.model, tt.ref)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("objective (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelWithoutClassSaysSoAsPublished(t *testing.T) {
	s := applied(t, system(classesMap, "a", "data: [{model: m, slo-ttft: 1}]"))
	_, err := s.Objective(llama, ClassRef{})
	const want = `model "meta/llama" in namespace "team" not found in any service class and default/default fallback not found`
	if e := (&NoClassError{}); !errors.As(err, &e) || err.Error() != want || e.Model != llama {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNamespaceOverridesClassesFieldByField(t *testing.T) {
	all := system(classesMap, "gold", "name: Gold\npriority: 5\ndata: [{model: meta/llama, slo-tpot: 20, slo-ttft: 500}]")
	for content, want := range map[string]Objective{
		"priority: 1": {Class: "Gold", Key: "gold", Priority: 1, ITL: 20, TTFT: 500, Level: LevelModel},
		"data: [{model: meta/llama, slo-ttft: 900}]": {Class: "Gold", Key: "gold", Priority: 5, ITL: 20, TTFT: 900, Level: LevelNamespacedModel},
	} {
		s := applied(t, all, in("team", classesMap, "gold", content))
		got, err := s.Objective(llama, ClassRef{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, objective (-want +got):\n%s", content, err, diff)
		}
		if got, _ := s.Objective(scaling.ModelKey{Namespace: "x", ID: llama.ID}, ClassRef{}); got.Priority != 5 || got.TTFT != 500 {
			t.Errorf("%s: got %+v in another namespace", content, got)
		}
	}
}

func TestTwoClassesWithTheSameModelAreNamedAndTheFirstKeyWins(t *testing.T) {
	s := newStore(t)
	r := s.Apply([]Source{system(classesMap,
		"b", "name: B\ndata: [{model: meta/llama, slo-ttft: 2}]",
		"a", "name: A\ndata: [{model: meta/llama, slo-ttft: 1}]",
	)})
	wantFinding(t, r.Findings, `, b, data: "meta/llama" has a row already: want one row for each model; in force: that of a`)
	if o, err := s.Snapshot().Objective(llama, ClassRef{}); err != nil || o.Class != "A" {
		t.Errorf("got %+v, %v; want class A", o, err)
	}
}

func TestPriorityOutOfRangeIsTheLowest(t *testing.T) {
	s := newStore(t)
	r := s.Apply([]Source{system(classesMap, "a", "priority: 101\ndata: [{model: meta/llama, slo-ttft: 2}]")})
	wantFinding(t, r.Findings, `priority: "101" is not accepted: want a whole number from 1 to 100; in force: the default`)
	if o, err := s.Snapshot().Objective(llama, ClassRef{}); err != nil || o.Priority != 100 {
		t.Errorf("got %+v, %v; want priority 100", o, err)
	}
}

func TestReplicaCostComesFromTheNearestSource(t *testing.T) {
	s := applied(t, system(costsMap, "A100", `{"device": "NVIDIA-A100", "cost": "40.00"}`), in("team", costsMap, "A100", `{"cost": "30"}`))
	tests := []struct {
		name, namespace, variantCost, accelerator string
		count                                     int
		want                                      float64
		source                                    scaling.CostSource
		fails                                     bool
	}{
		{"variant", "team", "12.5", "A100", 2, 12.5, scaling.CostVariant, false},
		{"free variant", "team", "0", "A100", 2, 0, scaling.CostVariant, false},
		{"10 counts as not set", "x", "10", "A100", 2, 80, scaling.CostUnitCost, false},
		{"so does 10.0", "x", "10.0", "A100", 1, 40, scaling.CostUnitCost, false},
		{"namespace", "team", "", "A100", 1, 30, scaling.CostUnitCost, false},
		{"device, inherited", "team", "", "NVIDIA-A100", 1, 30, scaling.CostUnitCost, false},
		{"unknown accelerator", "x", "", "H100", 4, 10, scaling.CostDefault, false},
		{"no accelerator", "x", "10", "", 0, 10, scaling.CostDefault, false},
		{"no number", "x", ".5", "A100", 1, 40, scaling.CostUnitCost, true},
	}
	for _, tt := range tests {
		got, source, err := s.ReplicaCost(tt.namespace, tt.variantCost, tt.accelerator, tt.count)
		if got != tt.want || source != tt.source || (err != nil) != tt.fails {
			t.Errorf("%s: got %v by %s, %v; want %v by %s", tt.name, got, source, err, tt.want, tt.source)
		}
	}
}

func TestScaleToZeroIsResolvedFieldByField(t *testing.T) {
	s := applied(t,
		system(settingsMap, "WVA_SCALE_TO_ZERO", "true"),
		system(zeroMap,
			"__defaults__", "retentionPeriod: 1h",
			"model.a", "modelID: a\nenableScaleToZero: false",
			"model.a-team", "modelID: a\nnamespace: team\nretentionPeriod: 2m",
			"free-name", "model_id: b\nretention_period: 3m",
		),
		in("local", zeroMap, "default", "enable_scale_to_zero: false"),
	)
	tests := []struct {
		namespace, id string
		want          ScaleToZero
	}{
		{"team", "a", ScaleToZero{false, 2 * time.Minute}},
		{"x", "a", ScaleToZero{false, time.Hour}},
		{"x", "b", ScaleToZero{true, 3 * time.Minute}},
		{"x", "c", ScaleToZero{true, time.Hour}},
		{"local", "b", ScaleToZero{false, 3 * time.Minute}},
	}
	for _, tt := range tests {
		if got := s.Policy(scaling.ModelKey{Namespace: tt.namespace, ID: tt.id}).ScaleToZero; got != tt.want {
			t.Errorf("%s/%s: got %+v, want %+v", tt.namespace, tt.id, got, tt.want)
		}
	}
}

func TestLongRetentionIsAcceptedWithADoubt(t *testing.T) {
	s := newStore(t)
	wantFinding(t, s.Apply([]Source{system(zeroMap, "__defaults__", "retentionPeriod: 25h")}).Findings, "doubtful", "is longer than 24h")
	if got := s.Snapshot().Policy(llama).ScaleToZero.Retention; got != 25*time.Hour {
		t.Errorf("got %s", got)
	}
}

func TestQuotas(t *testing.T) {
	s := applied(t, system(quotaMap, "quotas", "namespaceQuotas: {listed: {A100: 4, H100: -1}}\ndefault: {A100: 2}\nexclude: [free]"))
	tests := []struct {
		namespace, accelerator string
		want                   int
	}{
		{"listed", "A100", 4},
		{"listed", "H100", Unlimited},
		{"listed", "L40S", 0}, // not in the list of a listed namespace
		{"x", "A100", 2},
		{"x", "L40S", Unlimited}, // the default says nothing of it
		{"free", "A100", Unlimited},
	}
	for _, tt := range tests {
		if got := s.Quota(tt.namespace, tt.accelerator); got != tt.want {
			t.Errorf("%s, %s: got %d, want %d", tt.namespace, tt.accelerator, got, tt.want)
		}
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	for _, value := range []string{".nan", ".inf", "-.inf", `"0.5"`, "1e400", "-0.1", "[0.5]", "true", "{}"} {
		s := newStore(t)
		r := s.Apply([]Source{system(saturationMap, "default", "maxScaleUpStep: 2\nkvCacheThreshold: "+value)})
		wantFinding(t, r.Findings, "default, kvCacheThreshold: ", "want a ratio from 0 to 1")
	}
	for _, value := range []string{"-1s", "2h", "9999999h", "99999999999999999999s", "5", "soon"} {
		s := newStore(t)
		r := s.Apply([]Source{system(saturationMap, "default", "scaleUpStabilization: "+value)})
		wantFinding(t, r.Findings, "scaleUpStabilization", strings.TrimSpace(value), "want a duration from 0s to 1h")
	}
}

func TestThresholdsThatGrowForeverAreDoubtful(t *testing.T) {
	for _, content := range []string{"kvCacheThreshold: 0\nkvSpareTrigger: 0", "queueLengthThreshold: 2"} {
		s := newStore(t)
		wantFinding(t, s.Apply([]Source{system(saturationMap, "default", content)}).Findings, "doubtful", "the model grows to its bounds")
	}
}

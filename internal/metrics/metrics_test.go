package metrics

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stopped is a clock that stands at one time.
type stopped time.Time

func (s stopped) Now() time.Time { return time.Time(s) }

func newVariant(name, accelerator string, current scaling.Replicas) scaling.Variant {
	return scaling.Variant{
		Key:         scaling.VariantKey{Namespace: "prod", Name: name},
		Model:       scaling.ModelKey{Namespace: "prod", ID: "llama"},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name + "-decode"},
		Accelerator: accelerator,
		Bounds:      scaling.Bounds{Max: math.MaxInt},
		Replicas:    scaling.ReplicaCounts{Observed: true, Current: current, Ready: current},
	}
}

func decide(v scaling.Variant, target scaling.Replicas, reason scaling.Reason) scaling.Decision {
	d := scaling.Decision{Variant: v.Key, Model: v.Model, Current: v.Replicas.Current}
	return d.Then(scaling.StageOptimize, target, reason, "")
}

// newRecord returns a plan over variants, each given a target in the same
// order, with every decision new.
func newRecord(at time.Time, variants []scaling.Variant, targets ...scaling.Replicas) memory.Record {
	r := memory.Record{
		Plan:    scaling.Plan{At: at},
		Fleet:   scaling.Fleet{At: at, Variants: variants},
		History: memory.History{},
	}
	for i, target := range targets {
		v := variants[i]
		r.Plan.Decisions = append(r.Plan.Decisions, decide(v, target, scaling.ReasonSaturated))
		r.History[v.Key] = memory.Past{}.Decide(target, at)
	}
	return r
}

// analyzed returns the time of the plan for each of its decisions.
func analyzed(r memory.Record) map[scaling.VariantKey]time.Time {
	at := map[scaling.VariantKey]time.Time{}
	for _, d := range r.Plan.Decisions {
		at[d.Variant] = r.Plan.At
	}
	return at
}

// exported returns the named families, or all, in the text format without its
// comments.
func exported(t *testing.T, reg prometheus.Gatherer, names ...string) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatalf("gathering: %v", err)
	}
	var text strings.Builder
	for _, f := range families {
		if len(names) == 0 || slices.Contains(names, f.GetName()) {
			if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
				t.Fatalf("formatting %s: %v", f.GetName(), err)
			}
		}
	}
	var series strings.Builder
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			series.WriteString(line)
		}
	}
	return series.String()
}

func publish(t *testing.T, m *Metrics, r memory.Record) {
	t.Helper()
	if err := m.Publish(r, analyzed(r)); err != nil {
		t.Fatalf("Publish: %v", err)
	}
}

func TestReplicaGauges(t *testing.T) {
	tests := []struct {
		name     string
		instance string
		variant  scaling.Variant
		want     string
	}{
		{
			name:    "labels of every dialect",
			variant: newVariant("llama-a100", "A100", 2),
			want: `wva_current_replicas{accelerator_type="A100",namespace="prod",target_kind="Deployment",target_name="llama-a100-decode",variant_name="llama-a100"} 2
wva_desired_ratio{accelerator_type="A100",namespace="prod",target_kind="Deployment",target_name="llama-a100-decode",variant_name="llama-a100"} 1.5
wva_desired_replicas{accelerator_type="A100",namespace="prod",target_kind="Deployment",target_name="llama-a100-decode",variant_name="llama-a100"} 3
`,
		},
		{
			name:     "accelerator unknown, controller instance set",
			instance: "blue",
			variant:  newVariant("v", "", 3),
			want: `wva_current_replicas{accelerator_type="unknown",controller_instance="blue",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 3
wva_desired_ratio{accelerator_type="unknown",controller_instance="blue",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 1
wva_desired_replicas{accelerator_type="unknown",controller_instance="blue",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 3
`,
		},
		{
			name:    "the ratio at zero replicas is the desired replicas",
			variant: newVariant("v", "H100", 0),
			want: `wva_current_replicas{accelerator_type="H100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 0
wva_desired_ratio{accelerator_type="H100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 3
wva_desired_replicas{accelerator_type="H100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 3
`,
		},
		{
			name: "an unreadable target has a decision and no current replicas",
			variant: func() scaling.Variant {
				v := newVariant("v", "H100", 0)
				v.Replicas = scaling.ReplicaCounts{}
				return v
			}(),
			want: `wva_desired_replicas{accelerator_type="H100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 3
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			m := New(reg, stopped(start), Options{ControllerInstance: tt.instance})
			publish(t, m, newRecord(start, []scaling.Variant{tt.variant}, 3))
			got := exported(t, reg, DesiredReplicas, CurrentReplicas, DesiredRatio)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gauges (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariantWithoutDecisionHasNoDecisionSeries(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	publish(t, m, newRecord(start, []scaling.Variant{newVariant("v", "A100", 2)}))
	if got := exported(t, reg, DesiredReplicas, DesiredRatio, ScalingDecision, DecisionAge); got != "" {
		t.Errorf("exported without a decision:\n%s", got)
	}
	if got := testutil.CollectAndCount(decisions{m}, CurrentReplicas); got != 1 {
		t.Errorf("current replicas: got %d series, want 1", got)
	}
}

func TestSeriesOfDeletedVariantDisappear(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	a, b := newVariant("a", "A100", 1), newVariant("b", "A100", 1)
	publish(t, m, newRecord(start, []scaling.Variant{a, b}, 2, 3))
	if got := testutil.CollectAndCount(decisions{m}, ReplicaScaling); got != 2 {
		t.Fatalf("changes counted: got %d series, want 2", got)
	}
	publish(t, m, newRecord(start.Add(time.Minute), []scaling.Variant{b}, 3))
	if got := exported(t, reg); strings.Contains(got, `variant_name="a"`) {
		t.Errorf("series of a deleted variant remain:\n%s", got)
	}
	m.Clear()
	if got := testutil.CollectAndCount(decisions{m}); got != 0 {
		t.Errorf("after Clear: got %d decision series, want 0", got)
	}
	if got := testutil.CollectAndCount(m.cycles); got != 2 {
		t.Errorf("after Clear: got %d health series, want 2", got)
	}
}

func TestReplicaScalingCountsChangesOfTheDecision(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{ControllerInstance: "blue"})
	v := newVariant("v", "A100", 1)
	for i, target := range []scaling.Replicas{2, 2, 4, 3, 3} {
		publish(t, m, newRecord(start.Add(time.Duration(i)*time.Minute), []scaling.Variant{v}, target))
	}
	// 1 -> 2 -> 4 is up twice, 4 -> 3 down once.
	want := `wva_replica_scaling_total{accelerator_type="A100",controller_instance="blue",direction="down",namespace="prod",reason="Saturated",target_kind="Deployment",target_name="v-decode",variant_name="v"} 1
wva_replica_scaling_total{accelerator_type="A100",controller_instance="blue",direction="up",namespace="prod",reason="Saturated",target_kind="Deployment",target_name="v-decode",variant_name="v"} 2
`
	if diff := cmp.Diff(want, exported(t, reg, ReplicaScaling)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestDecisionTakenOverFromStatusIsNotAChange(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	r := newRecord(start, []scaling.Variant{newVariant("v", "A100", 1)}, 4)
	for key := range r.History {
		r.History[key] = memory.Past{Desired: 4, DecidedAt: start.Add(-time.Hour)}
	}
	publish(t, m, r)
	if got := exported(t, reg, ReplicaScaling); got != "" {
		t.Errorf("a decision of an earlier process was counted:\n%s", got)
	}
}

func TestDirectionOfDecision(t *testing.T) {
	for _, tt := range []struct {
		target scaling.Replicas
		want   string
	}{{1, "-1"}, {2, "0"}, {3, "1"}} {
		reg := prometheus.NewPedanticRegistry()
		m := New(reg, stopped(start), Options{})
		publish(t, m, newRecord(start, []scaling.Variant{newVariant("v", "A100", 2)}, tt.target))
		want := `wva_scaling_decision{namespace="prod",variant_name="v"} ` + tt.want + "\n"
		if diff := cmp.Diff(want, exported(t, reg, ScalingDecision)); diff != "" {
			t.Errorf("target %d of 2 (-want +got):\n%s", tt.target, diff)
		}
	}
}

func TestDecisionAgeGrowsBetweenPublications(t *testing.T) {
	clock := stopped(start)
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, &clock, Options{})
	publish(t, m, newRecord(start, []scaling.Variant{newVariant("v", "A100", 1)}, 1))
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{0, "0"}, {90 * time.Second, "90"}, {-time.Second, "0"}} {
		clock = stopped(start.Add(tt.after))
		want := `wva_decision_age_seconds{namespace="prod",variant_name="v"} ` + tt.want + "\n"
		if diff := cmp.Diff(want, exported(t, reg, DecisionAge)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", tt.after, diff)
		}
	}
}

func TestAbsentReadingsHaveNoSeries(t *testing.T) {
	v, silent := newVariant("v", "A100", 2), newVariant("w", "A100", 1)
	r := newRecord(start, []scaling.Variant{v, silent}, 2, 1)
	r.Snapshots = []scaling.Snapshot{{
		Model:    v.Model,
		Variants: r.Fleet.Variants,
		Replicas: []scaling.ReplicaSample{
			{Pod: "p1", Variant: v.Key, KVCacheUsage: scaling.Measured(0.5, scaling.Fresh), QueueLength: scaling.Measured(3, scaling.Fresh)},
			{Pod: "p2", Variant: v.Key, KVCacheUsage: scaling.Measured(0.75, scaling.Aging), QueueLength: scaling.Measured(100, scaling.Stale)},
			{Pod: "p3", Variant: v.Key},
			{Pod: "p4", Variant: silent.Key},
		},
		Load: scaling.Load{
			ArrivalRate:  scaling.Measured(0, scaling.Fresh), // a measured 0 is known
			InputTokens:  scaling.Measured(512, scaling.Aging),
			OutputTokens: scaling.Reading{State: scaling.NotApplicable},
		},
	}}
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	publish(t, m, r)
	// kv_cache: (0.5 + 0.75) / 2; queue: 3 / 1, the stale one does not count.
	want := `wva_current_load{model_name="llama",namespace="prod",quantity="arrival_rate",variant_name="v"} 0
wva_current_load{model_name="llama",namespace="prod",quantity="arrival_rate",variant_name="w"} 0
wva_current_load{model_name="llama",namespace="prod",quantity="input_tokens",variant_name="v"} 512
wva_current_load{model_name="llama",namespace="prod",quantity="input_tokens",variant_name="w"} 512
wva_saturation_level{namespace="prod",signal="kv_cache",variant_name="v"} 0.625
wva_saturation_level{namespace="prod",signal="queue",variant_name="v"} 3
`
	if diff := cmp.Diff(want, exported(t, reg, SaturationLevel, CurrentLoad)); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

func TestLabelIsCutAtRuneBoundary(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "unknown"},
		{"space", " \t", "unknown"},
		{"trimmed", " A100 ", "A100"},
		{"at the limit", strings.Repeat("x", 128), strings.Repeat("x", 128)},
		{"beyond the limit", strings.Repeat("x", 129), strings.Repeat("x", 128)},
		// 127 bytes and a rune of two: the rune does not fit.
		{"within a rune", strings.Repeat("x", 127) + "é", strings.Repeat("x", 127)},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Label(tt.in); got != tt.want {
				t.Errorf("Label(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzLabel(f *testing.F) {
	f.Add("A100")
	f.Add(strings.Repeat("é", 65))
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, s string) {
		got := Label(s)
		if got == "" || len(got) > 128 || !utf8.ValidString(got) {
			t.Errorf("Label(%q) = %q", s, got)
		}
	})
}

func TestPublishNamesWhatItCannotExport(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	long := strings.Repeat("x", 128)
	first, second := newVariant(long+"1", "A100", 1), newVariant(long+"2", "A100", 1)
	r := newRecord(start, []scaling.Variant{first, second}, 2, 2)
	r.Plan.Decisions = append(r.Plan.Decisions, decide(newVariant("gone", "A100", 1), 2, scaling.ReasonSaturated))

	err := m.Publish(r, analyzed(r))
	if err == nil {
		t.Fatal("Publish: no error")
	}
	for _, name := range []string{"prod/gone", second.Key.String()} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("Publish: error does not name %s: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), first.Key.String()) {
		t.Errorf("Publish: error names a variant that was published: %v", err)
	}
	if _, err := reg.Gather(); err != nil {
		t.Errorf("the scrape fails: %v", err)
	}
	if got := testutil.CollectAndCount(decisions{m}, DesiredReplicas); got != 1 {
		t.Errorf("desired replicas: got %d series, want 1", got)
	}
}

func TestHealth(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	m.ObserveCycle(OutcomeOf(nil), 2*time.Second)
	m.ObserveCycle(OutcomeOf(errors.New("no")), time.Second)
	m.ObserveQuery("kv_cache_usage", Success, time.Millisecond)
	m.CountError("collector")
	want := `wva_collector_queries_total{outcome="success",query="kv_cache_usage"} 1
wva_cycles_total{outcome="failure"} 1
wva_cycles_total{outcome="success"} 1
wva_errors_total{component="collector"} 1
`
	if diff := cmp.Diff(want, exported(t, reg, Cycles, CollectorQueries, Errors)); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
	for _, name := range []string{CycleDuration, CollectorQueryDuration} {
		if got, err := testutil.GatherAndCount(reg, name); err != nil || got != 1 {
			t.Errorf("%s: got %d series, %v; want 1", name, got, err)
		}
	}
}

// TestScrapeIsConsistent publishes targets that are equal for two variants and
// checks that no scrape sees them differ.
func TestScrapeIsConsistent(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	variants := []scaling.Variant{newVariant("a", "A100", 1), newVariant("b", "A100", 1)}
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 50 {
				target := 1 + (i+w)%7
				if err := m.Publish(newRecord(start, variants, scaling.Replicas(target), scaling.Replicas(target)), nil); err != nil {
					t.Errorf("Publish: %v", err)
				}
				m.ObserveCycle(Success, time.Millisecond)
			}
		})
	}
	for range 50 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatalf("Gather: %v", err)
		}
		seen := map[float64]bool{}
		for _, f := range families {
			if f.GetName() == DesiredReplicas {
				for _, s := range f.GetMetric() {
					seen[s.GetGauge().GetValue()] = true
				}
			}
		}
		if len(seen) > 1 {
			t.Errorf("one scrape saw targets %v", slices.Sorted(maps.Keys(seen)))
		}
	}
	wg.Wait()
}

func TestWhatIsLeftOutEndsWhenItIsWithinTheBudget(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	m.LeftOut(budget.Variants, map[string]int{"a": 3, "b": 1})
	m.LeftOut(budget.Events, map[string]int{"a": 2})
	m.LeftOut(budget.Variants, map[string]int{"b": 4, "c": 0})
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == NamespaceLeftOut {
			for _, one := range f.GetMetric() {
				got[one.GetLabel()[0].GetValue()+" "+one.GetLabel()[1].GetValue()] = one.GetGauge().GetValue()
			}
		}
	}
	if len(got) != 2 || got["b variants"] != 4 || got["a events"] != 2 {
		t.Errorf("got %v, want 4 variants of b and 2 events of a", got)
	}
}

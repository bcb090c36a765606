package monitoring

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// evaluateEvery is less often than the groups ask for: the tests take a third of the
// time, and every alert waits for longer.
const evaluateEvery = 3 * time.Minute

const home = "../../../monitoring/"

func ruleFiles() []string {
	return []string{home + "rules/records.yaml", home + "rules/objectives.yaml", home + "rules/alerts.yaml"}
}

func open(t *testing.T, now time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir(), testingclock.NewFakePassiveClock(now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fired records a fleet and returns which alerts fired, by the name of each and its
// labels, sorted. The rules of further files are evaluated first.
func fired(t *testing.T, r Recording, further ...string) []string {
	t.Helper()
	s := open(t, r.End())
	if err := r.Record(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	rules, err := LoadRules(t.Context(), s, append(further, ruleFiles()...)...)
	if err != nil {
		t.Fatal(err)
	}
	firings, err := rules.Evaluate(t.Context(), r.Begin, r.End(), evaluateEvery)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range firings {
		name := f.Name
		if sent := f.Summary + f.Description; strings.Contains(sent, "<no value>") || strings.Contains(sent, "<error") || f.Description == "" {
			t.Errorf("%s says %q", f.Name, sent)
		}
		if f.Name == "WVAInert" && !f.Labels.Has("variant_name") { // the namespace is the manager's, with honor_labels none
			f.Labels = labels.NewBuilder(f.Labels).Del("namespace").Labels()
		}
		for _, label := range []string{"objective", "reason", "state", "namespace", "variant_name", "model_name", "job"} {
			if v := f.Labels.Get(label); v != "" {
				name += " " + v
			}
		}
		got = append(got, name)
	}
	slices.Sort(got)
	return slices.Compact(got)
}

// hourOf is an hour with a fault after ten minutes, for long enough that all of its
// alerts fire.
func hourOf(fault Fault) Recording {
	return Recording{Fault: fault, Begin: noon, Before: 10 * time.Minute, After: 45 * time.Minute}
}

// alertsOf returns what must fire on a fault, and nothing else.
func alertsOf(fault Fault) []string {
	const (
		variant = " chat llama-h100"
		model   = " chat meta/llama-3.1-8b"
		job     = " workload-variant-autoscaler-metrics"
	)
	return map[Fault][]string{
		Healthy:    nil,
		Gone:       {"WVAAbsent"},
		Hung:       {"WVAInert" + job},
		Failing:    {"WVAInert" + job},
		Undecided:  {"WVAUndecided" + variant},
		Blind:      {"WVAModelBlind" + variant},
		HalfBlind:  {"WVAMetricsAging" + model},
		Ignored:    {"WVANotFollowed" + variant},
		Orphaned:   {"WVAInert NoScaler" + variant},
		Confined:   {"WVAInert HPALimited" + variant},
		NoStock:    {"WVACapacityExhausted" + variant},
		Held:       {"WVAGrowthHeld AboveMax" + variant},
		Unnamed:    {"WVAGrowthHeld none" + variant},
		Unplaced:   {"WVAReplicasNotReady unschedulable" + variant},
		Crashing:   {"WVAReplicasNotReady starting" + variant},
		Flapping:   {"WVAThrashing" + variant},
		SlowTTFT:   {"WVASLOBurningFast ttft" + model, "WVASLOBurningSlow ttft" + model},
		SlowITL:    {"WVASLOBurningFast itl" + model, "WVASLOBurningSlow itl" + model},
		SlowerTTFT: {"WVASLOBurningSlow ttft" + model},
		SlowerITL:  {"WVASLOBurningSlow itl" + model},
		MeanITL:    nil,
		Paused:     nil,
	}[fault]
}

func TestAnAlertFiresOnItsFaultAndOnNoOther(t *testing.T) {
	for _, fault := range Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(fired(t, hourOf(fault)), alertsOf(fault)); diff != "" {
				t.Errorf("fired (-got +want):\n%s", diff)
			}
		})
	}
}

// TestAlertsDoNotDependOnTheScrapesLabels scrapes with honor_labels; everything else
// here is recorded without, which is Prometheus' default. It looks at alerts that join
// series of the manager with each other and with those of the engines.
func TestAlertsDoNotDependOnTheScrapesLabels(t *testing.T) {
	for _, fault := range []Fault{Hung, Orphaned, NoStock, SlowTTFT} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := hourOf(fault)
			r.HonorLabels = true
			if diff := cmp.Diff(fired(t, r), alertsOf(fault)); diff != "" {
				t.Errorf("fired (-got +want):\n%s", diff)
			}
		})
	}
}

// TestAModelIsHeldToItsOwnObjective gives a model that is fast enough for its class
// objectives of its own, that of ITL where the class asks for the mean.
func TestAModelIsHeldToItsOwnObjective(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.yaml")
	text := `
kind: PrometheusRule
apiVersion: monitoring.coreos.com/v1
spec:
  groups:
  - name: own
    rules:
    - record: namespace_model:ttft_objective_seconds:own
      expr: vector(0.05)
      labels: {namespace: chat, model_name: meta/llama-3.1-8b}
    - record: namespace_model:itl_objective_seconds:own
      expr: vector(0.01)
      labels: {namespace: chat, model_name: meta/llama-3.1-8b}
`
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := fired(t, Recording{Fault: Healthy, Begin: noon, After: 30 * time.Minute}, own)
	want := append(alertsOf(SlowITL), alertsOf(SlowTTFT)...)
	slices.Sort(want)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("fired (-got +want):\n%s", diff)
	}
}

func TestAModelThatNoClassHoldsIsHeldToNoObjective(t *testing.T) {
	r := hourOf(SlowTTFT)
	r.Classless = true
	if got := fired(t, r); got != nil {
		t.Errorf("fired: %v", got)
	}
}

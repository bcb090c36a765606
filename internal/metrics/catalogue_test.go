package metrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestCatalogueFollowsTheNamingRules holds every instrument to
// https://prometheus.io/docs/practices/naming: the name ends in the base unit,
// counters in _total. A family of several quantities has no unit in its name.
func TestCatalogueFollowsTheNamingRules(t *testing.T) {
	units := []string{"", "replicas", "ratio", "seconds"}
	seen := map[string]bool{}
	for _, i := range Catalogue() {
		if seen[i.Name] {
			t.Errorf("%s: twice in the catalogue", i.Name)
		}
		seen[i.Name] = true
		if !strings.HasPrefix(i.Name, "wva_") {
			t.Errorf("%s: prefix is not wva_", i.Name)
		}
		if !strings.HasSuffix(i.Help, ".") || len(i.Help) < 10 {
			t.Errorf("%s: help is not a sentence: %q", i.Name, i.Help)
		}
		if !slices.Contains(units, i.Unit) {
			t.Errorf("%s: %q is not a base unit", i.Name, i.Unit)
		}
		if i.Unit != "" && !strings.HasSuffix(i.Name, "_"+i.Unit) {
			t.Errorf("%s: does not end in its unit %s", i.Name, i.Unit)
		}
		if total := strings.HasSuffix(i.Name, "_total"); total != (i.Kind == Counter) {
			t.Errorf("%s: _total is for counters and only for them, this is a %s", i.Name, i.Kind)
		}
	}
}

// TestCatalogueIsWhatIsExported fills every instrument and compares.
func TestCatalogueIsWhatIsExported(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{ControllerInstance: "blue", LegacyNames: true})
	v := newVariant("v", "A100", 1)
	v.Approval.Required = true
	advised := newVariant("advised", "A100", 1)
	advised.Advisory = true
	r := newRecord(start, []scaling.Variant{v, advised}, 3, 2)
	r.Plan.Decisions[0] = r.Plan.Decisions[0].Then(scaling.StageCapacity, 2, scaling.ReasonNoStock, "")
	r.Objectives = []scaling.ModelObjective{{Model: v.Model, Objective: scaling.Objective{TTFT: 500, ITL: 24}}}
	r.Fleet.Conflicts = []scaling.Conflict{newConflict("Deployment", "d", "v", "w")}
	r.Snapshots = []scaling.Snapshot{{
		Model:    v.Model,
		Variants: r.Fleet.Variants,
		Replicas: []scaling.ReplicaSample{
			{Pod: "p", Variant: v.Key, At: start, KVCacheUsage: scaling.Measured(0.5, scaling.Fresh), Pace: scaling.Pace{Decoding: 3, ITL: 20}},
		},
		Load: scaling.Load{ArrivalRate: scaling.Measured(1, scaling.Fresh), InputTokens: scaling.Measured(100, scaling.Fresh)},
	}}
	r.Analyses = []scaling.Analysis{{Model: v.Model, Predicted: scaling.Latency{TTFT: 120, ITL: 24}}}
	past := r.History[v.Key]
	past.Fit = learnedFit(3)
	r.History[v.Key] = past
	r.Gap = scaling.Measured(0.01, scaling.Fresh)
	r.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: "A100", Total: 8}}}
	publish(t, m, r)
	m.Following(v.Key, true, "Following")
	m.ObserveCycle(Success, 0)
	m.ObserveQuery("q", Failure, 0)
	m.CountError("c")
	m.LeftOut(budget.Events, map[string]int{"n": 1})

	families, err := reg.Gather()
	if err != nil {
		t.Fatalf("Gather: %v", err)
	}
	got := map[string][]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = append(labels, strings.ToLower(f.GetType().String()), f.GetHelp())
	}
	for _, i := range append(Catalogue(), legacyInstruments()...) {
		labels := slices.Clone(i.Labels)
		if i.byInstance() {
			labels = append(labels, LabelControllerInstance)
		}
		slices.Sort(labels)
		labels = append(labels, string(i.Kind), i.Help)
		if !slices.Equal(got[i.Name], labels) {
			t.Errorf("%s: got %q, want %q", i.Name, got[i.Name], labels)
		}
		delete(got, i.Name)
	}
	for name := range got {
		t.Errorf("%s is exported and not in the catalogue", name)
	}
}

func TestRegisteringTwicePanics(t *testing.T) {
	reg := prometheus.NewRegistry()
	New(reg, stopped(start), Options{})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(reg, stopped(start), Options{})
}

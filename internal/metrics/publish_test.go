package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func TestConflictHasASeriesForItsTargetAndForEachThatNamesIt(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	publish(t, m, eventful())
	want := `wva_conflict_resolution_status{deployment="llama-a100-decode",namespace="prod",resolution="suppressed",variant_name="fourth"} 0
wva_conflict_resolution_status{deployment="llama-a100-decode",namespace="prod",resolution="suppressed",variant_name="second"} 0
wva_conflict_resolution_status{deployment="llama-a100-decode",namespace="prod",resolution="suppressed",variant_name="third"} 0
wva_conflict_resolution_status{deployment="llama-a100-decode",namespace="prod",resolution="winner",variant_name="llama-a100"} 1
wva_conflict_resolution_status{deployment="llama-a100-decode",namespace="prod",resolution="winner",variant_name="other"} 1
wva_deployment_target_conflicts{deployment="llama-a100-decode",namespace="prod",target_kind="Deployment"} 3
wva_deployment_target_conflicts{deployment="llama-a100-decode",namespace="prod",target_kind="LeaderWorkerSet"} 2
`
	if diff := cmp.Diff(want, exported(t, reg, TargetConflicts, ConflictResolution)); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	settled := eventful()
	settled.Fleet.Conflicts = nil
	publish(t, m, settled)
	if got := exported(t, reg, TargetConflicts, ConflictResolution); got != "" {
		t.Errorf("the conflict has ended and is still exported:\n%s", got)
	}
}

// TestAdviceIsPublishedUnderItsOwnNameAlone goes from decisions that are carried out to advice and back.
func TestAdviceIsPublishedUnderItsOwnNameAlone(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{LegacyNames: true})
	v := newVariant("v", "A100", 2)
	v.Cost, v.ReadAs = 10, "before"
	names := []string{DesiredReplicas, DesiredRatio, AdvisedReplicas, ScalingDecision, GrowthHeld, PlanCost, legacyDesiredReplicas, legacyDesiredRatio, legacyReplicaScaling, ReplicaScaling}
	advised := v
	advised.Advisory = true
	publish(t, m, newRecord(start, []scaling.Variant{advised}, 5))
	publish(t, m, newRecord(start.Add(time.Minute), []scaling.Variant{advised}, 4))
	want := `wva_advised_replicas{accelerator_type="A100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"} 4
wva_plan_cost 20
`
	if diff := cmp.Diff(want, exported(t, reg, names...)); diff != "" {
		t.Errorf("advice (-want +got):\n%s", diff)
	}
	publish(t, m, newRecord(start.Add(2*time.Minute), []scaling.Variant{v}, 2))
	if got := exported(t, reg, names...); strings.Contains(got, AdvisedReplicas) || !strings.Contains(got, DesiredReplicas) || strings.Contains(got, ReplicaScaling) {
		t.Errorf("what is carried out is published as\n%s\nwant decisions, and no change since the advice", got)
	}
}

func TestPlanCostIsThatOfTheDecidedReplicas(t *testing.T) {
	cheap, dear, undecided := newVariant("cheap", "L40S", 1), newVariant("dear", "H100", 0), newVariant("undecided", "H100", 5)
	cheap.Cost, dear.Cost, undecided.Cost = 2.5, 40, 1000
	fleet := []scaling.Variant{cheap, dear, undecided}
	tests := []struct {
		name    string
		targets []scaling.Replicas
		want    string
	}{
		{"replicas times cost", []scaling.Replicas{4, 2}, "90"}, // 4 x 2.5 + 2 x 40
		{"nothing runs", []scaling.Replicas{0, 0}, "0"},
		{"nothing is decided", nil, "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			m := New(reg, stopped(start), Options{})
			publish(t, m, newRecord(start, fleet, tt.targets...))
			if diff := cmp.Diff("wva_plan_cost "+tt.want+"\n", exported(t, reg, PlanCost)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			m.Clear()
			if got := exported(t, reg, PlanCost); got != "" {
				t.Errorf("one that does not lead exports %s", got)
			}
		})
	}
}

func TestReplicasThatWaitForApprovalAreCounted(t *testing.T) {
	variants := []scaling.Variant{newVariant("a", "A100", 5), newVariant("b", "A100", 5), newVariant("c", "A100", 5)}
	variants[0].Approval.Required, variants[1].Approval.Required = true, true
	r := newRecord(start, variants, 5, 5, 5)
	r.Plan.Decisions[0].Reduction = scaling.Reduction{Cycle: "p-1", Since: start, From: 5, To: 2}
	r.Plan.Decisions[1].Reduction = scaling.Reduction{Cycle: "p-1", Since: start, From: 5, To: 2, Approved: true}
	reg := prometheus.NewPedanticRegistry()
	publish(t, New(reg, stopped(start), Options{}), r)
	want := `wva_awaiting_approval_replicas{namespace="prod",variant_name="a"} 3
wva_awaiting_approval_replicas{namespace="prod",variant_name="b"} 0
`
	if diff := cmp.Diff(want, exported(t, reg, AwaitingApproval)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPausedSaysWhatTheObjectAsksFor(t *testing.T) {
	running, frozen := newVariant("a", "A100", 1), newVariant("b", "A100", 1)
	frozen.Paused = true
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	publish(t, m, newRecord(start, []scaling.Variant{running, frozen}, 1, 1))
	want := `wva_paused{namespace="prod",variant_name="a"} 0
wva_paused{namespace="prod",variant_name="b"} 1
`
	if diff := cmp.Diff(want, exported(t, reg, Paused)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// restored returns what a status says: 4 replicas decided on an hour ago, 2 seen.
func restored(v scaling.Variant) memory.Record {
	return memory.Record{
		Fleet: scaling.Fleet{At: start, Variants: []scaling.Variant{v}},
		Plan:  scaling.Plan{At: start, Decisions: []scaling.Decision{decide(v, 4, scaling.ReasonSaturated)}},
	}
}

func TestRestoredDecisionsAreExportedUntilTheFirstCycle(t *testing.T) {
	v := newVariant("v", "A100", 2)
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	ages := map[scaling.VariantKey]time.Time{v.Key: start.Add(-time.Hour)}
	if err := m.Restore(restored(v), ages); err != nil {
		t.Fatal(err)
	}
	names := []string{DesiredReplicas, CurrentReplicas, DesiredRatio, DecisionAge, ReplicaScaling, PlanCost}
	const target = `{accelerator_type="A100",namespace="prod",target_kind="Deployment",target_name="v-decode",variant_name="v"}`
	// Neither a count, nothing having changed, nor a cost, nothing being known of it.
	want := "wva_current_replicas" + target + " 2\n" + `wva_decision_age_seconds{namespace="prod",variant_name="v"} 3600` + "\n" +
		"wva_desired_ratio" + target + " 2\nwva_desired_replicas" + target + " 4\n"
	if diff := cmp.Diff(want, exported(t, reg, names...)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}

	publish(t, m, newRecord(start, []scaling.Variant{v}, 5))
	if err := m.Restore(restored(v), ages); err != nil {
		t.Fatal(err)
	}
	if got := exported(t, reg, DesiredReplicas); got != "wva_desired_replicas"+target+" 5\n" {
		t.Errorf("a status replaced what was decided since: %s", got)
	}
}

func TestFirstChangeAfterARestartIsCounted(t *testing.T) {
	v := newVariant("v", "A100", 2)
	m := New(prometheus.NewPedanticRegistry(), stopped(start), Options{})
	if err := m.Restore(restored(v), nil); err != nil {
		t.Fatal(err)
	}
	publish(t, m, newRecord(start, []scaling.Variant{v}, 4)) // as restored
	if got := testutil.CollectAndCount(decisions{m}, ReplicaScaling); got != 0 {
		t.Errorf("a decision that was only taken over gave %d series", got)
	}
	publish(t, m, newRecord(start.Add(time.Minute), []scaling.Variant{v}, 3))
	if got := testutil.CollectAndCount(decisions{m}, ReplicaScaling); got != 1 {
		t.Errorf("4 to 3 replicas: got %d series, want 1", got)
	}
}

func TestOnlyWhatLeadsExportsDecisions(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{LegacyNames: true})
	m.ObserveCycle(Success, time.Second)
	follows := exported(t, reg)
	publish(t, m, eventful())
	if leads := exported(t, reg); leads == follows {
		t.Fatal("the leader exports no decision")
	}
	m.Clear()
	if diff := cmp.Diff(follows, exported(t, reg)); diff != "" {
		t.Errorf("who no longer leads exports something else than who never led (-never +no longer):\n%s", diff)
	}
	for _, i := range append(decisionInstruments(), legacyInstruments()...) {
		if strings.Contains(follows, i.Name) {
			t.Errorf("%s is exported by one that does not lead", i.Name)
		}
	}
}

// TestNoSeriesOutlivesItsVariant goes over every family that names a variant.
func TestNoSeriesOutlivesItsVariant(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{LegacyNames: true})
	publish(t, m, eventful())
	if got := strings.Count(exported(t, reg), `variant_name="llama-a100"`); got < 10 {
		t.Fatalf("only %d series of the variant to begin with", got)
	}
	publish(t, m, newRecord(start, nil))
	if got := exported(t, reg); strings.Contains(got, "variant_name=") {
		t.Errorf("series of a deleted variant remain:\n%s", got)
	}
}

// BenchmarkPublish renders and scrapes a large fleet.
func BenchmarkPublish(b *testing.B) {
	var variants []scaling.Variant
	var targets []scaling.Replicas
	for i := range 1000 {
		variants = append(variants, newVariant(fmt.Sprintf("variant-%d", i), "A100", 3))
		targets = append(targets, 4)
	}
	r := newRecord(start, variants, targets...)
	for _, v := range variants {
		s := scaling.Snapshot{Model: scaling.ModelKey{Namespace: "prod", ID: v.Key.Name}, Variants: []scaling.Variant{v}}
		s.Load.ArrivalRate = scaling.Measured(1, scaling.Fresh)
		for range 10 {
			s.Replicas = append(s.Replicas, scaling.ReplicaSample{Variant: v.Key, At: start, KVCacheUsage: scaling.Measured(0.5, scaling.Fresh)})
		}
		r.Snapshots = append(r.Snapshots, s)
	}
	reg := prometheus.NewRegistry()
	m := New(reg, stopped(start), Options{LegacyNames: true})
	b.Run("publish", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := m.Publish(r, analyzed(r)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scrape", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := reg.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestOfManyFaultsTheFirstAreNamed: names that are equal once they are cut for labels are
// as many as a namespace may have.
func TestOfManyFaultsTheFirstAreNamed(t *testing.T) {
	var faults []error
	for i := range 3 * mostFaults {
		faults = append(faults, fmt.Errorf("fault %d", i))
	}
	got := strings.Split(first(faults).Error(), "\n")
	if len(got) != mostFaults+1 || got[mostFaults] != fmt.Sprintf("%d more", 2*mostFaults) {
		t.Errorf("got %q, want %d faults and a count of the others", got, mostFaults)
	}
	if len(faults) != 3*mostFaults || faults[mostFaults].Error() != fmt.Sprintf("fault %d", mostFaults) {
		t.Error("the faults were modified")
	}
	if err := first(nil); err != nil {
		t.Errorf("without faults: got %v", err)
	}
}

package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// newConflict returns a conflict over a target of namespace prod.
func newConflict(kind, target string, names ...string) scaling.Conflict {
	c := scaling.Conflict{Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: kind, Name: target}}
	for _, name := range names {
		c.Contenders = append(c.Contenders, scaling.VariantKey{Namespace: "prod", Name: name})
	}
	return c
}

// eventful returns a cycle that fills every family: a variant grows from 2 to 3
// replicas, and two of its targets are contested.
func eventful() memory.Record {
	v := newVariant("llama-a100", "A100", 2)
	v.ID = "llama-A100-2"
	r := newRecord(start, []scaling.Variant{v}, 3)
	r.Fleet.Conflicts = []scaling.Conflict{
		newConflict("Deployment", "llama-a100-decode", "llama-a100", "second", "third"),
		newConflict("LeaderWorkerSet", "llama-a100-decode", "other", "fourth"),
	}
	r.Snapshots = []scaling.Snapshot{{
		Model: v.Model, Variants: r.Fleet.Variants, Load: scaling.Load{ArrivalRate: scaling.Measured(2.5, scaling.Fresh)},
	}}
	return r
}

func TestLegacyNamesCarryTheLabelsOfTheirTime(t *testing.T) {
	tests := map[string]string{
		"inferno_desired_replicas":              `{accelerator_type="A100",namespace="prod",variant_id="llama-A100-2",variant_name="llama-a100"} 3`,
		"inferno_current_replicas":              `{accelerator_type="A100",namespace="prod",variant_id="llama-A100-2",variant_name="llama-a100"} 2`,
		"inferno_desired_ratio":                 `{accelerator_type="A100",namespace="prod",variant_id="llama-A100-2",variant_name="llama-a100"} 1.5`,
		"inferno_replica_scaling_total":         `{direction="up",namespace="prod",reason="Saturated",variant_id="llama-A100-2",variant_name="llama-a100"} 1`,
		"inferno_current_load":                  `{model_name="llama",namespace="prod",quantity="arrival_rate",variant_id="llama-A100-2",variant_name="llama-a100"} 2.5`,
		"wva_deployment_target_conflicts_total": `{deployment="llama-a100-decode",namespace="prod"} 3`,
	}
	for _, i := range legacyInstruments() {
		if tests[i.Name] == "" {
			t.Errorf("%s has no case", i.Name)
		}
	}
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{ControllerInstance: "blue", LegacyNames: true})
	publish(t, m, eventful())
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(name+want+"\n", exported(t, reg, name)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLegacyNamesAreOffByDefault(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	publish(t, m, eventful())
	for _, i := range legacyInstruments() {
		if got := exported(t, reg, i.Name); got != "" {
			t.Errorf("exported without being asked for:\n%s", got)
		}
	}
}

// TestLegacyNamesAgreeWithTheirSuccessors compares values over a few cycles.
func TestLegacyNamesAgreeWithTheirSuccessors(t *testing.T) {
	successors := map[string]string{
		legacyDesiredReplicas: DesiredReplicas, legacyCurrentReplicas: CurrentReplicas, legacyDesiredRatio: DesiredRatio,
		legacyReplicaScaling: ReplicaScaling,
	}
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{LegacyNames: true})
	unreadable := newVariant("unreadable", "H100", 0)
	unreadable.Replicas = scaling.ReplicaCounts{}
	variants := []scaling.Variant{newVariant("v", "A100", 1), newVariant("idle", "A100", 0), unreadable, newVariant("undecided", "L4", 2)}
	for i, target := range []scaling.Replicas{1, 4, 2, 2} {
		publish(t, m, newRecord(start.Add(time.Duration(i)*time.Minute), variants, target, 1, target))
		for older, newer := range successors {
			if diff := cmp.Diff(values(exported(t, reg, newer)), values(exported(t, reg, older))); diff != "" {
				t.Errorf("%s and %s differ:\n%s", newer, older, diff)
			}
		}
	}
}

// values returns the values of series and the variants that they are of, which
// sort alike under both names.
func values(series string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(series) {
		_, variant, _ := strings.Cut(line, `variant_name="`)
		variant, _, _ = strings.Cut(variant, `"`)
		fields := strings.Fields(line)
		out[variant] = append(out[variant], fields[len(fields)-1])
	}
	return out
}

// TestGoldenLabelSanitize holds Label to what published versions did.
func TestGoldenLabelSanitize(t *testing.T) {
	for _, c := range goldentest.Read[struct{ Value string }, struct{ Label string }](t, "label-sanitize") {
		if got := Label(c.Inputs.Value); got != c.Expected.Label {
			t.Errorf("%s: Label(%q) = %q, want %q", c.ID, c.Inputs.Value, got, c.Expected.Label)
		}
	}
}

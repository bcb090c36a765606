package scaling

import (
	"testing"
)

func TestParts(t *testing.T) {
	variant := func(name string, role Role) Variant {
		return Variant{Key: VariantKey{"ns", name}, Model: ModelKey{"ns", "m"}, Role: role}
	}
	sample := func(pod, variant string) ReplicaSample {
		return ReplicaSample{Pod: pod, Variant: VariantKey{"ns", variant}}
	}
	load := func(rate float64) Load { return Load{ArrivalRate: Measured(rate, Fresh)} }
	whole := Snapshot{Model: ModelKey{"ns", "m"}, Variants: []Variant{variant("a", "decode"), variant("b", "")}, Load: load(3)}
	if parts := whole.Parts(); len(parts) != 1 || parts[0].Role != "" || len(parts[0].Variants) != 2 {
		t.Errorf("a model of which no variant has the role prefill: got %v, want it whole", parts)
	}

	split := Snapshot{
		Model:    ModelKey{"ns", "m"},
		Variants: []Variant{variant("a", "decode"), variant("b", "prefill"), variant("c", "prefill"), variant("d", "")},
		Replicas: []ReplicaSample{sample("a-0", "a"), sample("b-0", "b"), sample("d-0", "d")},
		Load:     load(3),
		Roles:    []RoleLoad{{RoleDecode, load(3)}, {RolePrefill, load(2)}},
	}
	parts := split.Parts()
	if len(parts) != 2 || parts[0].Role != RoleDecode || parts[1].Role != RolePrefill {
		t.Fatalf("got %v, want decode and prefill", parts)
	}
	for i, want := range []struct {
		variants, replicas int
		rate               float64
	}{{2, 2, 3}, {2, 1, 2}} {
		p := parts[i]
		if len(p.Variants) != want.variants || len(p.Replicas) != want.replicas || p.Load.ArrivalRate.Value != want.rate {
			t.Errorf("%s: got %d variants, %d replicas and %v, want %v", p.Part(), len(p.Variants), len(p.Replicas), p.Load.ArrivalRate, want)
		}
		if again := p.Parts(); len(again) != 1 || again[0].Role != p.Role {
			t.Errorf("the part of a part: got %v, want itself", again)
		}
	}
	split.Roles, split.Variants = nil, split.Variants[1:3]
	if parts := split.Parts(); len(parts) != 1 || parts[0].Role != RolePrefill || parts[0].Load.ArrivalRate.Known() {
		t.Errorf("prefill alone, its load unknown: got %v", parts)
	}
}

package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestGoldenNameSuggestions(t *testing.T) {
	for _, c := range goldentest.Read[struct{ VariantID string }, struct{ Name string }](t, "name-suggest") {
		if got := nameFor(c.Inputs.VariantID); got != c.Expected.Name {
			t.Errorf("%s: got %q, want %q", c.ID, got, c.Expected.Name)
		}
	}
}

func TestGoldenBounds(t *testing.T) {
	type in struct {
		Desired scaling.Replicas
		Min     int
		Max     *int
	}
	type out struct {
		Clamped scaling.Replicas
		Changed bool
	}
	for _, c := range goldentest.Read[in, out](t, "bounds") {
		spec := v1alpha1.VariantAutoscalingSpec{MinReplicas: int32(c.Inputs.Min)}
		if c.Inputs.Max != nil {
			spec.MaxReplicas = new(int32(*c.Inputs.Max))
		}
		got := bounds(spec).Clamp(c.Inputs.Desired)
		if got != c.Expected.Clamped || got != c.Inputs.Desired != c.Expected.Changed {
			t.Errorf("%s: got %d, want %d, changed %v", c.ID, got, c.Expected.Clamped, c.Expected.Changed)
		}
	}
}

// TestGoldenConflicts: who scales a target that several name, and who else does
// name it. Ages are those of the objects, so that the oldest wins.
func TestGoldenConflicts(t *testing.T) {
	type in struct {
		VAs []struct {
			Name, Namespace, Target string
			AgeMinutes              int
		}
	}
	type out struct {
		Active      []string
		Resolutions map[string]struct {
			Winner string
			Losers []string
		}
	}
	now := at(3600)
	for _, c := range goldentest.Read[in, out](t, "conflict") {
		var vas []v1alpha1.VariantAutoscaling
		for _, given := range c.Inputs.VAs {
			va := variant(given.Name, targeting("Deployment", given.Target))
			va.Namespace = given.Namespace
			va.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(given.AgeMinutes) * time.Minute))
			vas = append(vas, *va)
		}
		winners, contenders := arbitrate(vas)
		var active []string
		for _, va := range winners {
			active = append(active, keyOf(va).String())
		}
		if diff := cmp.Diff(active, c.Expected.Active); diff != "" {
			t.Errorf("%s: who scales, -got +want:\n%s", c.ID, diff)
		}
		conflicts := conflictsOf(winners, contenders)
		if len(conflicts) != len(c.Expected.Resolutions) {
			t.Errorf("%s: %d conflicts, want %d", c.ID, len(conflicts), len(c.Expected.Resolutions))
		}
		for _, conflict := range conflicts {
			first := conflict.Contenders[0]
			want := c.Expected.Resolutions[first.Namespace+"/"+conflict.Target.Name]
			var losers []string
			for _, key := range conflict.Contenders[1:] {
				losers = append(losers, key.Name)
			}
			if first.Name != want.Winner || !cmp.Equal(losers, want.Losers) {
				t.Errorf("%s: %s wins over %v, want %s over %v", c.ID, first.Name, losers, want.Winner, want.Losers)
			}
		}
	}
}

package metrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestWhetherAScalerFollowsIsOneSeriesOfAVariant goes from one reason to another, and to
// the end of what is known of a variant.
func TestWhetherAScalerFollowsIsOneSeriesOfAVariant(t *testing.T) {
	const follows, none, limited = `wva_scaler_following{namespace="prod",reason="Following",variant_name="v"} 1
`, `wva_scaler_following{namespace="prod",reason="NoScaler",variant_name="v"} 0
`, `wva_scaler_following{namespace="prod",reason="HPALimited",variant_name="v"} 0
`
	v, w := newVariant("v", "A100", 2), newVariant("w", "A100", 2)
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{ControllerInstance: "blue"})
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"before anything was found", func() { publish(t, m, newRecord(start, []scaling.Variant{v}, 2)) }, ""},
		{"no scaler", func() { m.Following(v.Key, false, "NoScaler") }, none},
		{"it is limited", func() { m.Following(v.Key, false, "HPALimited") }, limited},
		{"a cycle", func() { publish(t, m, newRecord(start, []scaling.Variant{v}, 2)) }, limited},
		{"it follows", func() { m.Following(v.Key, true, "Following") }, follows},
		{"it is not known", func() { m.Following(v.Key, false, "") }, ""},
		{"it follows again", func() { m.Following(v.Key, true, "Following") }, follows},
		{"its object is gone", func() { publish(t, m, newRecord(start, []scaling.Variant{w}, 2)) }, ""},
		{"it is back", func() { m.Following(v.Key, true, "Following") }, follows},
		{"this process no longer leads", m.Clear, ""},
	} {
		step.do()
		if diff := cmp.Diff(exported(t, reg, ScalerFollowing), step.want); diff != "" {
			t.Errorf("%s, -got +want:\n%s", step.name, diff)
		}
	}
}

func TestVariantsWithOneLabelAfterTheCutShareASeries(t *testing.T) {
	long := strings.Repeat("v", 200)
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	for _, name := range []string{long + "a", long + "b"} {
		m.Following(scaling.VariantKey{Namespace: "prod", Name: name}, false, "NoScaler")
	}
	if got := exported(t, reg, ScalerFollowing); strings.Count(got, "\n") != 1 {
		t.Errorf("got\n%s, want one series", got)
	}
}

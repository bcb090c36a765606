package lab

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// TestStaticIsTunedAroundWhatTheWorkloadNeeds: 3 requests/s for each replica.
func TestStaticIsTunedAroundWhatTheWorkloadNeeds(t *testing.T) {
	for _, c := range []struct {
		peak float64 // requests/s
		most int
		want []int
	}{
		{1, math.MaxInt, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{36, 32, []int{6, 8, 9, 11, 12, 14, 15, 18}},
		{90, math.MaxInt, []int{15, 19, 23, 27, 30, 34, 38, 45}},
		{90, 32, []int{15, 19, 23, 27, 30, 32}},
		{0, 2, []int{1, 2}},
	} {
		t.Run(fmt.Sprintf("%g requests a second, %d replicas at most", c.peak, c.most), func(t *testing.T) {
			m := DefaultModel()
			v := DefaultVariant("ns", testProfile())
			v.Spec.Bounds = scaling.Bounds{Min: 1, Max: c.most}
			m.Share, m.Spec.Variants = 1, append(m.Spec.Variants, v)
			f := fitted{survey: Survey{Peak: c.peak}, measured: map[scaling.VariantKey]measured{v.Spec.Key: {Benchmark: policy.Benchmark{Rate: 3}}}}
			f.Models = []Model{m}
			if got := f.counts(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			points := Choice{Name: fixed}.points(f)
			isDefault := func(p map[string]string) bool { return len(p) == 0 || p["replicas"] == "2" }
			if !slices.ContainsFunc(points, isDefault) || len(points) > 9 {
				t.Errorf("got %v, want the default among at most eight and itself", points)
			}
			if got := (Choice{Name: fixed, Params: map[string]string{"replicas": "3"}}).points(f); len(got) != 0 {
				t.Errorf("a count that was chosen is tuned over %v", got)
			}
		})
	}
}

package lab

import (
	"math"
	"strconv"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// TestCountsAreSearchedUntilTheLeastIsFound: n replicas attain the target in the first part
// from one number on, and in the rest from another.
func TestCountsAreSearchedUntilTheLeastIsFound(t *testing.T) {
	const most, target = 32, 0.95
	for first := scaling.Replicas(1); first <= most+1; first++ {
		for rest := scaling.Replicas(1); rest <= most+1; rest++ {
			var trials []Trial
			attained := func(n, least scaling.Replicas) Point {
				if n >= least {
					return Point{1, float64(n)}
				}
				return Point{float64(n) / 100, float64(n)}
			}
			for next := counts(trials, target, most); len(next) > 0; next = counts(trials, target, most) {
				for _, n := range next {
					trials = append(trials, Trial{Params: count(n), First: attained(n, first), Rest: attained(n, rest)})
				}
			}
			a, b := Choice{Name: fixed}.settle(trials, target)
			want, wantRest := strconv.Itoa(int(min(first, most))), strconv.Itoa(int(min(rest, most)))
			if a.Params["replicas"] != want || b.Params["replicas"] != wantRest || len(trials) > 12 {
				t.Errorf("%d and %d replicas do: found %v and %v in %d runs, want 12 or fewer", first, rest, a, b, len(trials))
			}
		}
	}
	if got := counts(nil, target, 1); len(got) != 1 || got[0] != 1 {
		t.Errorf("of one count: tries %v, want it", got)
	}
}

func TestCountsAreWithinBoundsAndTwiceTheNeed(t *testing.T) {
	for _, c := range []struct {
		peak        float64 // requests/s, of which a replica carries 3
		bound, want scaling.Replicas
	}{{1, math.MaxInt, 16}, {36, math.MaxInt, 24}, {36, 20, 20}, {0, 2, 2}} {
		m := DefaultModel()
		v := DefaultVariant("ns", testProfile())
		v.Spec.Bounds = scaling.Bounds{Min: 1, Max: c.bound}
		m.Share, m.Spec.Variants = 1, append(m.Spec.Variants, v)
		f := fitted{survey: Survey{Peak: c.peak}, measured: map[scaling.VariantKey]Measured{v.Spec.Key: {Benchmark: policy.Benchmark{Rate: 3}}}}
		f.Models = []Model{m}
		if got := f.most(); got != c.want {
			t.Errorf("%g requests/s within %d: up to %d, want %d", c.peak, c.bound, got, c.want)
		}
	}
	if (Choice{Name: fixed, Params: count(3)}).searched() {
		t.Error("a count that was chosen is searched")
	}
}

package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThinKeepsExtremesAndInventsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		limit := 5 + rng.IntN(60)
		values := make([]float64, rng.IntN(700))
		for i := range values {
			if values[i] = rng.NormFloat64(); rng.IntN(9) == 0 {
				values[i] = math.NaN()
			}
		}
		kept := thin(values, limit)
		if len(kept) > limit {
			t.Fatalf("%d points of %d kept, want %d at most", len(kept), len(values), limit)
		}
		if !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != len(kept) {
			t.Fatalf("kept %v, want indices that rise", kept)
		}
		all, some := extremes(values, slices.Collect(indices(len(values)))), extremes(values, kept)
		if diff := cmp.Diff(all, some); diff != "" {
			t.Fatalf("least, greatest, first, last and whether there is a gap (-all +kept)\n%s", diff)
		}
	}
}

// extremes are what a thinned series must have in common with all of it.
func extremes(values []float64, kept []int) (out struct {
	Least, Greatest, First, Last float64
	Any, Gap                     bool
},
) {
	for _, i := range kept {
		v := values[i]
		switch {
		case math.IsNaN(v):
			out.Gap = true
			continue
		case !out.Any:
			out.First, out.Least, out.Greatest, out.Any = v, v, v, true
		}
		out.Last, out.Least, out.Greatest = v, min(out.Least, v), max(out.Greatest, v)
	}
	return out
}

func indices(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestThinLeavesShortSeriesAlone(t *testing.T) {
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, thin([]float64{1, 1, math.NaN(), 1, 1}, 5)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestThinKeepsASpikeOfAWeek: one bad minute must be seen however long the run.
func TestThinKeepsASpikeOfAWeek(t *testing.T) {
	values := make([]float64, 7*24*60)
	values[6001] = 1
	if !slices.Contains(thin(values, mostPoints), 6001) {
		t.Error("the only peak is gone")
	}
}

func FuzzSplitLosesNothing(f *testing.F) {
	for _, s := range []string{"", "1", "mean 0.63, target 0.70", "p99.9.", "v1.2.3", "a\x00b 1", "..5 .5 5."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reason string) {
		phrase, numbers := split(reason)
		got := phrase
		if len(numbers) > 0 {
			parts := strings.Split(phrase, hole)
			if len(parts) != len(numbers)+1 {
				t.Fatalf("%q has %d holes for %d numbers", phrase, len(parts)-1, len(numbers))
			}
			got = parts[0]
			for i, n := range numbers {
				got += n + parts[i+1]
			}
		}
		if got != reason {
			t.Errorf("%q became %q", reason, got)
		}
	})
}

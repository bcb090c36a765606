package lab

import (
	"math"
	"slices"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// fixed is the policy whose grid depends on the workload: no list of counts suits
// a trace that needs two replicas and one that needs thirty.
const fixed = "static"

// points returns what a choice is tuned over in a scenario, its defaults among
// them.
func (c Choice) points(f fitted) []map[string]string {
	grid := c.grid()
	if c.Name != fixed || len(grid) == 0 {
		return grid
	}
	counts := f.counts()
	grid = nil
	for _, n := range counts {
		grid = append(grid, map[string]string{"replicas": strconv.Itoa(n)})
	}
	if !slices.Contains(counts, policy.DefaultStaticParams().Replicas) {
		grid = append(grid, nil)
	}
	return grid
}

// counts returns up to eight growing numbers of replicas around what the busiest
// ten minutes need of the cheapest variant of the model that needs most: from half
// of that to half as much again, and every number where that is less than eight.
func (f fitted) counts() []int {
	most, need := 1, 0.0
	for _, m := range f.Models {
		v := m.cheapest()
		most = max(most, v.Spec.Bounds.Max)
		if can := f.measured[v.Spec.Key].Rate; can > 0 {
			need = max(need, f.survey.Peak*m.Share/f.shares()/can)
		}
	}
	var counts []int
	last := 0
	for eighths := 4; eighths <= 12 && last < most; eighths++ {
		if eighths == 11 {
			continue // eight in all
		}
		last = min(most, max(last+1, int(math.Ceil(need*float64(eighths)/8))))
		counts = append(counts, last)
	}
	return counts // last < most: all are distinct
}

package solver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGreedyAgainstExact reports how far greedy is from the best, as a
// distribution over drawn systems: README.md quotes it. It fails if greedy ever
// beats what is proven to be the best.
//
// Where one type is scarce, all servers can be served, and greedy may cost more;
// where all are, it may serve fewer.
func TestGreedyAgainstExact(t *testing.T) {
	const seed, systems = 31, 20
	tests := []struct {
		name       string
		share      float64 // of what the cheapest allocations take
		everything bool    // scarce; otherwise the other types have plenty
	}{
		{"one type at 0.8", 0.8, false},
		{"one type at 0.5", 0.5, false},
		{"one type at 0.2", 0.2, false},
		{"every type at 0.9", 0.9, true},
		{"every type at 0.6", 0.6, true},
	}
	for i, test := range tests {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		var costs, servers []float64
		proven := 0
		for range systems {
			system, _ := draw(t, rng, shape{servers: 40, accelerators: 6, types: 3, running: true})
			limits := stockFor(t, system, test.share)
			if !test.everything {
				limits["type1"], limits["type2"] = 1000, 1000
			}
			c := Constraints{Limited: true, Stock: limits}
			g := solve(t, greedy(t, GreedyOptions{}), system, c)
			e := solve(t, mip(t, MIPOptions{Gap: 0.001, MaxWork: 20_000}), system, c)
			if e.Proof.Status == Optimal || e.Proof.Status == WithinGap {
				proven++
			}
			d := slices.Compare(served(system, e), served(system, g))
			if d < 0 || d == 0 && e.Objective > g.Objective*(1+1e-9) {
				t.Errorf("%s: exact serves %v at %g, greedy %v at %g",
					test.name, served(system, e), e.Objective, served(system, g), g.Objective)
			}
			if d == 0 {
				costs = append(costs, 100*(g.Objective/e.Objective-1))
			}
			servers = append(servers, float64(len(g.Shortfalls)-len(e.Shortfalls)))
		}
		t.Logf("%s, %d systems of 40 servers, seed %d: greedy costs more by %s %% (in %d that serve the same), and serves fewer by %s; %d proven to 0.1 %%",
			test.name, systems, seed, distribution(costs), len(costs), distribution(servers), proven)
	}
}

// distribution writes the quantiles of values.
func distribution(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[int(q*float64(len(values)-1))] }
	return fmt.Sprintf("p50 %.1f, p90 %.1f, max %.1f", at(0.5), at(0.9), at(1))
}

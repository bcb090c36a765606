package solver

import (
	"math/rand/v2"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// BenchmarkGreedy solves 1,000 servers on 8 accelerators of 4 types with stock
// for nine tenths of them; sizing the 8,000 candidates is not in it.
func BenchmarkGreedy(b *testing.B) {
	system, _ := draw(b, rand.New(rand.NewPCG(1, 0)), shape{servers: 1000, accelerators: 8, types: 4, running: true})
	c := Constraints{Limited: true, Stock: stockFor(b, system, 0.9)}
	g := greedy(b, GreedyOptions{Policy: config.PolicyPriorityRoundRobin})
	b.ReportAllocs()
	for b.Loop() {
		solve(b, g, system, c)
	}
}

// BenchmarkExact solves 100 servers on 8 accelerators of 4 types to a gap of 1 %.
func BenchmarkExact(b *testing.B) {
	for name, mix := range map[string]bool{"one": false, "mix": true} {
		b.Run(name, func(b *testing.B) {
			system, _ := draw(b, rand.New(rand.NewPCG(1, 0)), shape{servers: 100, accelerators: 8, types: 4, running: true})
			c := Constraints{Limited: true, Stock: stockFor(b, system, 0.9)}
			m := mip(b, MIPOptions{Mix: mix, Gap: 0.01})
			gap := 0.0
			for b.Loop() {
				gap = solve(b, m, system, c).Proof.Gap
			}
			b.ReportMetric(100*gap, "gap-%")
		})
	}
}

// BenchmarkNewSystem sizes 100 servers on 8 accelerators.
func BenchmarkNewSystem(b *testing.B) {
	for b.Loop() {
		draw(b, rand.New(rand.NewPCG(1, 0)), shape{servers: 100, accelerators: 8, types: 4, running: true})
	}
}

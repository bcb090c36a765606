package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fleet is a problem of the size of a large cluster: models with 8 variants
// each, one for each of 8 types, whose demand takes 1 to 20 replicas. Dearer
// types are faster, and how well a model suits a type varies. The stock of
// each type is what the cheapest mix without any stock limit uses, times the
// ratio.
func fleet(tb testing.TB, seed uint64, models int, ratio float64) Problem {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	const types = 8
	var p Problem
	price := make([]float64, types)
	for t := range types {
		p.Types = append(p.Types, Type{Name: fmt.Sprintf("type-%d", t), Stock: Unlimited})
		price[t] = 1 + 0.7*float64(t) + r.Float64()
	}
	for i := range models {
		g := Group{Name: fmt.Sprintf("model-%04d", i), Priority: 1 + r.IntN(5)}
		size := []int{1, 1, 2, 4}[r.IntN(4)]
		for t := range types {
			units := size
			if r.IntN(4) == 0 {
				units = size * 2
			}
			g.Options = append(g.Options, Option{
				Name: fmt.Sprintf("variant-%d", t), Type: t, Units: units,
				Capacity: price[t] * float64(units) / float64(size) * (5 + 5*r.Float64()),
				Cost:     math.Round(100*price[t]*float64(units)*(0.9+0.2*r.Float64())) / 100,
				Max:      Unlimited,
			})
		}
		g.Demand = g.Options[r.IntN(types)].Capacity * (1 + 19*r.Float64())
		p.Groups = append(p.Groups, g)
	}
	free, err := Solve(p, Params{})
	if err != nil {
		tb.Fatal(err)
	}
	for t, left := range (Problem{Types: make([]Type, types), Groups: p.Groups}).leftover(free.Counts) {
		p.Types[t].Stock = int(math.Floor(ratio * float64(-left)))
	}
	return p
}

// running gives the models of a fleet replicas that run already, of one variant
// each, and costs of switching: a tenth of the cost for each replica added, a
// twentieth for each removed and a fifth for starting on another type.
func running(p Problem, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range p.Groups {
		options := p.Groups[i].Options
		options[r.IntN(len(options))].Current = r.IntN(10)
		for v := range options {
			o := &options[v]
			o.AddCost, o.RemoveCost, o.StartCost = 0.1*o.Cost, 0.05*o.Cost, 0.2*o.Cost
		}
	}
}

// rank is the quantile of sorted values by the nearest rank.
func rank(sorted []float64, quantile float64) float64 {
	return sorted[int(math.Ceil(quantile*float64(len(sorted))))-1]
}

// BenchmarkSolve reports the time to a proven gap, by rows of the size of the
// fleet and its stock over the use of the free optimum. A solve that takes more
// than 2 s is ended and counts as not proven.
func BenchmarkSolve(b *testing.B) {
	for _, row := range []struct {
		models    int
		ratio     float64
		gap       float64
		instances int
		running   bool
	}{
		{100, 1.2, 0.005, 100, false},
		{100, 1.0, 0.01, 100, false},
		{100, 0.9, 0.01, 100, false},
		{100, 0.8, 0.02, 100, false},
		{100, 0.6, 0.02, 100, false},
		{100, 1.0, 0.01, 100, true},
		{100, 0.8, 0.02, 100, true},
		{1000, 0.8, 0.02, 10, false},
	} {
		b.Run(fmt.Sprintf("models=%d/stock=%v/running=%v", row.models, row.ratio, row.running), func(b *testing.B) {
			var problems []Problem
			for seed := range row.instances {
				p := fleet(b, uint64(seed), row.models, row.ratio)
				if row.running {
					running(p, uint64(seed))
				}
				problems = append(problems, p)
			}
			var took []float64
			var worst, unserved, nodes float64
			proven := 0
			for b.Loop() {
				for _, p := range problems {
					began := time.Now()
					s, err := Solve(p, Params{Gap: row.gap, Stop: func() bool { return time.Since(began) > 2*time.Second }})
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, float64(time.Since(began).Microseconds())/1000)
					worst = max(worst, s.Gap)
					for _, c := range s.Coverage {
						unserved += float64(c.Groups - c.Served)
					}
					nodes += float64(s.Nodes)
					if s.Status != Bounded {
						proven++
					}
				}
			}
			slices.Sort(took)
			n := float64(len(took))
			b.ReportMetric(rank(took, 0.5), "p50-ms")
			b.ReportMetric(rank(took, 0.99), "p99-ms")
			b.ReportMetric(100*worst, "max-gap-%")
			b.ReportMetric(unserved/n, "unserved")
			b.ReportMetric(nodes/n, "nodes")
			b.ReportMetric(100*float64(proven)/n, "proven-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

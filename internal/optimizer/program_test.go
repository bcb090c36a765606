package optimizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// brute returns the cheapest choice and its cost by trying every choice.
func (p program) brute() (best []scaling.Replicas, cost float64) {
	n := slices.Clone(p.least)
	cost = math.Inf(1)
	replicas := scaling.Replicas(0)
	var try func(v int)
	try = func(v int) {
		if v < len(n) {
			for n[v] = p.least[v]; n[v] <= p.most[v]; n[v]++ {
				try(v + 1)
			}
			n[v] = p.least[v]
			return
		}
		spent, count := 0.0, scaling.Replicas(0)
		for i := range n {
			spent += p.cost[i] * float64(n[i])
			count += n[i]
		}
		if count < p.total || !p.carried(n) {
			return
		}
		if spent < cost-1e-9 || spent <= cost+1e-9 && (count < replicas || count == replicas && slices.Compare(n, best) > 0) {
			best, cost, replicas = slices.Clone(n), spent, count
		}
	}
	try(0)
	return best, cost
}

func (p program) carried(n []scaling.Replicas) bool {
	for r, need := range p.needs {
		for v := range n {
			need -= p.carries[r][v] * float64(n[v])
		}
		if need > slack {
			return false
		}
	}
	return true
}

func randomProgram(r *rand.Rand, variants, most int) program {
	p := program{total: scaling.Replicas(r.IntN(2))}
	for range variants {
		p.cost = append(p.cost, float64(r.IntN(5)))
		least := scaling.Replicas(r.IntN(2))
		p.least, p.most = append(p.least, least), append(p.most, least+scaling.Replicas(r.IntN(most)))
	}
	for range r.IntN(4) {
		row := make([]float64, variants)
		for v := range row {
			if r.IntN(4) > 0 {
				row[v] = r.Float64()
			}
		}
		p.carries, p.needs = append(p.carries, row), append(p.needs, 3*r.Float64())
	}
	return p
}

func TestProgramIsSolvedAsByTryingEverything(t *testing.T) {
	possible := 0
	for seed := range uint64(race.Cases(3000)) {
		p := randomProgram(rand.New(rand.NewPCG(seed, 7)), 1+int(seed%4), 6)
		want, _ := p.brute()
		got, ok := p.solve()
		if ok != (want != nil) {
			t.Fatalf("seed %d: %+v: solved %v, want %v", seed, p, got, want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %+v (-want +got):\n%s", seed, p, diff)
		}
		if ok {
			possible++
		}
	}
	if possible < race.Cases(1000) {
		t.Errorf("only %d of 3000 have an answer", possible)
	}
}

// TestLargeProgramEndsAndCarriesAll: there are more choices than the search can try. The result
// still carries every demand, and costs no more than one with a single variant.
func TestLargeProgramEndsAndCarriesAll(t *testing.T) {
	for seed := range uint64(race.Cases(20)) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := program{total: 1}
		for range 8 {
			p.cost, p.least, p.most = append(p.cost, 10*(1+0.1*r.Float64())), append(p.least, 0), append(p.most, replicasAtMost)
		}
		for range 3 {
			row := make([]float64, 8)
			for v := range row {
				row[v] = 0.01 * (1 + r.Float64())
			}
			p.carries, p.needs = append(p.carries, row), append(p.needs, 1)
		}
		n, ok := p.solve()
		if !ok || !p.carried(n) {
			t.Fatalf("seed %d: %v does not carry all", seed, n)
		}
		spent := 0.0
		for v := range n {
			spent += p.cost[v] * float64(n[v])
		}
		for v, cost := range p.cost {
			alone := 0
			for r := range p.needs {
				alone = max(alone, int(math.Ceil(1/p.carries[r][v])))
			}
			if one := cost * float64(alone); spent > one+1e-9 {
				t.Errorf("seed %d: costs %g, and %g with one variant", seed, spent, one)
			}
		}
	}
}

func TestProgramWithoutDemandKeepsTheCheapest(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    program
		want []scaling.Replicas
	}{
		{"one replica in all", program{cost: []float64{1, 2}, least: []scaling.Replicas{0, 0}, most: []scaling.Replicas{5, 5}, total: 1}, []scaling.Replicas{1, 0}},
		{"costs are equal: the first", program{cost: []float64{2, 2}, least: []scaling.Replicas{0, 0}, most: []scaling.Replicas{5, 5}, total: 1}, []scaling.Replicas{1, 0}},
		{"costs are nothing: the fewest", program{
			cost: []float64{0, 0}, least: []scaling.Replicas{0, 0}, most: []scaling.Replicas{5, 5}, total: 1,
			carries: [][]float64{{1, 0.1}}, needs: []float64{2},
		}, []scaling.Replicas{2, 0}},
		{"none is asked for", program{cost: []float64{1}, least: []scaling.Replicas{0}, most: []scaling.Replicas{5}}, []scaling.Replicas{0}},
	} {
		if got, ok := tc.p.solve(); !ok || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, %v, want %v", tc.name, got, ok, tc.want)
		}
	}
}

func BenchmarkProgram(b *testing.B) {
	p := program{
		cost: []float64{10, 24, 41, 90}, least: []scaling.Replicas{0, 0, 0, 0}, most: []scaling.Replicas{replicasAtMost, replicasAtMost, replicasAtMost, replicasAtMost}, total: 1,
		carries: [][]float64{{0.011, 0.027, 0.047, 0.103}, {0.013, 0.025, 0.05, 0.1}}, needs: []float64{1, 1},
	}
	for b.Loop() {
		p.solve()
	}
}

package lab

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// rowOf is a row with a run for each attainment and cost, with seeds 1, 2 and so on.
func rowOf(name string, pairs ...float64) Row {
	c := Choice{Name: name}
	r := Row{Policy: c, Own: c.Own()}
	for i := 0; i < len(pairs); i += 2 {
		r.Runs = append(r.Runs, Run{Seed: uint64(i/2 + 1), Measures: Measures[float64]{Attainment: pairs[i], Cost: pairs[i+1]}})
	}
	r.sum()
	return r
}

// seeds are five runs whose attainment and cost differ by up to so much from the mean.
func seeds(name string, attainment, cost, spread float64) Row {
	var pairs []float64
	for _, off := range []float64{-1, 0.5, 0, -0.5, 1} {
		pairs = append(pairs, attainment*(1+off*spread), cost*(1+off*spread))
	}
	return rowOf(name, pairs...)
}

// TestADifferenceWithinTheErrorIsATie: of five seeds whose attainments and costs are
// spread by a part, the standard error is 0.35 of that part.
func TestADifferenceWithinTheErrorIsATie(t *testing.T) {
	// off is a policy that is not moved by the seeds as the others are.
	off := func(name string, attainment, cost, spread float64) Row {
		r := seeds(name, attainment, cost, spread)
		r.Runs[0].Measures, r.Runs[4].Measures = r.Runs[4].Measures, r.Runs[0].Measures
		r.Runs[1].Measures, r.Runs[3].Measures = r.Runs[3].Measures, r.Runs[1].Measures
		r.sum()
		return r
	}
	for _, tt := range []struct {
		name string
		rows []Row
		want []string
	}{
		{"a cost within the error", []Row{seeds(Saturation, 0.97, 2.01, 0.01), off("kpa", 0.98, 2, 0.01)}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation reaches 95.0 % at a cost of 2.01, a tie with the least.",
		}},
		{"a cost beyond the error", []Row{seeds(Saturation, 0.97, 2.1, 0.01), off("kpa", 0.98, 2, 0.01)}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation reaches the target with 97.0 %, at 1.05 times the least cost. It loses to kpa, which attains no less at no higher cost.",
		}},
		{"the seeds move both alike", []Row{seeds(Saturation, 0.97, 2.01, 0.02), seeds("kpa", 0.97, 2, 0.02)}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation reaches the target with 97.0 %, at 1.00 times the least cost. It loses to kpa, which attains no less at no higher cost.",
		}},
		{"peers that tie", []Row{seeds("kpa", 0.98, 2, 0.01), off("keda", 0.98, 2.01, 0.01), off("static", 0.98, 3, 0.01)}, []string{
			"kpa and keda reach 95.0 % at the least cost, 2.00 to 2.01, which is a tie.",
		}},
		{"an attainment within the error of the target", []Row{seeds(Saturation, 0.949, 3, 0.01), seeds("kpa", 0.96, 4, 0)}, []string{
			"kpa reaches 95.0 % at the least cost, 4.00.",
			"Our saturation misses the target: 94.9 % at a cost of 3.00, within the error of the target. No policy of others attains as much for less.",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := ScenarioResults{Target: 0.95, Rows: tt.rows}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), strings.Join(s.Verdict(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStandardErrorIsThatOfTheMean(t *testing.T) {
	// 1, 2, 3, 4, 5: a variance of 2.5.
	if got, want := spreadOf([]float64{3, 1, 5, 2, 4}), (Spread{Mean: 3, Error: math.Sqrt(0.5), Min: 1, Max: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := spreadOf([]float64{7}); got != (Spread{Mean: 7, Min: 7, Max: 7}) {
		t.Errorf("one seed has %+v, want no error", got)
	}
}

func TestWorstHourSlidesByTenMinutes(t *testing.T) {
	bin := func(arrived, met uint64) sim.Bin { return sim.Bin{Arrived: arrived, Met: met} }
	good := func(n int) []sim.Bin { return slices.Repeat([]sim.Bin{bin(100, 100)}, n) }
	for _, tt := range []struct {
		name string
		bins []sim.Bin
		want float64
	}{
		{"in the middle", slices.Concat(good(7), []sim.Bin{bin(100, 40)}, good(9)), 0.9},
		{"two bad stretches in one hour", slices.Concat(good(4), []sim.Bin{bin(100, 40)}, good(2), []sim.Bin{bin(100, 40)}, good(9)), 0.8},
		{"two bad stretches an hour apart", slices.Concat(good(4), []sim.Bin{bin(100, 40)}, good(5), []sim.Bin{bin(100, 40)}, good(9)), 0.9},
		{"an hour without enough requests", slices.Concat(slices.Repeat([]sim.Bin{bin(10, 0)}, 6), slices.Repeat([]sim.Bin{bin(0, 0)}, 6), good(6)), 1},
		{"half an hour", slices.Concat(good(2), []sim.Bin{bin(100, 40)}), 0.8},
		{"hardly a request", []sim.Bin{bin(4, 3)}, 0.75},
		{"no request", nil, 1},
	} {
		if got := worstHour([]sim.ModelReport{{Bins: tt.bins}}); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: got %g, want %g", tt.name, got, tt.want)
		}
	}
}

func TestVerdictSaysWhereWeLose(t *testing.T) {
	const chance = "This is of one seed: differences may be chance."
	for _, tt := range []struct {
		name string
		s    ScenarioResults
		want []string
	}{
		{"we win", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 2), rowOf("kpa", 0.99, 3)}}, []string{
			"Our saturation reaches 95.0 % at the least cost, 2.00.", chance,
		}},
		{"a tie", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 2), rowOf("kpa", 0.97, 2), rowOf("keda", 0.99, 2), rowOf("static", 0.99, 3)}}, []string{
			"kpa and keda reach 95.0 % at the least cost, 2.00.",
			"Our saturation reaches 95.0 % at the least cost, 2.00.", chance,
		}},
		{"we cost more", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 4), rowOf("kpa", 0.98, 2), rowOf("keda", 0.96, 3)}}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation reaches the target with 97.0 %, at 2.00 times the least cost. It loses to kpa, which attains no less at no higher cost.", chance,
		}},
		{"we miss", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.5, 1), rowOf("kpa", 0.98, 2)}}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation misses the target: 50.0 % at a cost of 1.00. No policy of others attains as much for less.", chance,
		}},
		{"all miss", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.5, 3), rowOf("kpa", 0.6, 2), rowOf("keda", 0.5, 3), rowOf("static", 0.5, 2)}}, []string{
			"No policy reaches 95.0 %; kpa comes closest with 60.0 % at a cost of 2.00.",
			"Our saturation misses the target: 50.0 % at a cost of 3.00. It loses to kpa and static, which attain no less at no higher cost.", chance,
		}},
		{"foresight", ScenarioResults{Target: 0.9, Rows: []Row{rowOf("kpa", 0.95, 2)}, Clairvoyant: &Clairvoyant{
			Seed: 1, Attainable: 0.99, Reached: true, Measures: Measures[float64]{Attainment: 0.91, Cost: 1.5},
		}}, []string{
			"kpa reaches 90.0 % at the least cost, 2.00.", chance,
			"Knowing every arrival, 91.0 % are attained at a cost of 1.50 (seed 1).",
		}},
		{"out of reach", ScenarioResults{Target: 0.9, Rows: []Row{rowOf("kpa", 0.1, 2)}, Clairvoyant: &Clairvoyant{Attainable: 0.805}}, []string{
			"No policy reaches 90.0 %; kpa comes closest with 10.0 % at a cost of 2.00.", chance,
			"No policy can reach 90.0 % here, whatever it knows: only 80.5 % of the requests can meet their objectives, each alone.",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), strings.Join(tt.s.Verdict(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

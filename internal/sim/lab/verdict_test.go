package lab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rowOf is a row with one run.
func rowOf(name string, attainment, cost float64) Row {
	c := Choice{Name: name}
	m := Measures[Spread]{Attainment: Spread{Mean: attainment}, Cost: Spread{Mean: cost}}
	return Row{Policy: c, Own: c.Own(), Measures: m}
}

func TestVerdictSaysWhereWeLose(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    ScenarioResults
		want []string
	}{
		{"we win", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 2), rowOf("kpa", 0.99, 3)}}, []string{
			"Our saturation reaches 95.0 % at the least cost, 2.00.",
		}},
		{"a tie", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 2), rowOf("kpa", 0.97, 2), rowOf("keda", 0.99, 2), rowOf("static", 0.99, 3)}}, []string{
			"kpa and keda reach 95.0 % at the least cost, 2.00.",
			"Our saturation reaches 95.0 % at the least cost, 2.00.",
		}},
		{"we cost more", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.97, 4), rowOf("kpa", 0.98, 2), rowOf("keda", 0.96, 3)}}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation reaches the target with 97.0 %, at 2.00 times the least cost. It loses to kpa, which attains no less at no higher cost.",
		}},
		{"we miss", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.5, 1), rowOf("kpa", 0.98, 2)}}, []string{
			"kpa reaches 95.0 % at the least cost, 2.00.",
			"Our saturation misses the target: 50.0 % at a cost of 1.00. No policy of others attains as much for less.",
		}},
		{"all miss", ScenarioResults{Target: 0.95, Rows: []Row{rowOf(Saturation, 0.5, 3), rowOf("kpa", 0.6, 2), rowOf("keda", 0.5, 3), rowOf("static", 0.5, 2)}}, []string{
			"No policy reaches 95.0 %; kpa comes closest with 60.0 % at a cost of 2.00.",
			"Our saturation misses the target: 50.0 % at a cost of 3.00. It loses to kpa and static, which attain no less at no higher cost.",
		}},
		{"foresight", ScenarioResults{Target: 0.9, Rows: []Row{rowOf("kpa", 0.95, 2)}, Clairvoyant: &Clairvoyant{
			Seed: 1, LowerBound: 0.5, FullBound: 0.8, Reachable: true, Reached: true, Measures: Measures[float64]{Attainment: 0.91, Cost: 1.5},
		}}, []string{
			"kpa reaches 90.0 % at the least cost, 2.00.",
			"Whoever reaches 90.0 % pays 0.50 or more, whoever misses no objective that can be met 0.80 (bounds by relaxation).",
			"Knowing every arrival, 91.0 % are attained at a cost of 1.50 (seed 1).",
		}},
		{"out of reach", ScenarioResults{Target: 0.9, Rows: []Row{rowOf("kpa", 0.1, 2)}, Clairvoyant: &Clairvoyant{}}, []string{
			"No policy reaches 90.0 %; kpa comes closest with 10.0 % at a cost of 2.00.",
			"No policy can reach 90.0 % here, whatever it knows: too many requests cannot meet their objectives even alone.",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), strings.Join(tt.s.Verdict(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

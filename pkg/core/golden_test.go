package core

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// goldenCase is one recorded answer of the published optimizer.
type goldenCase struct {
	ID, Area, Case string
	Tolerance      float64         `json:"tolerance_rel"`
	Inputs         json.RawMessage `json:"inputs"`
	Expected       struct {
		Candidates map[string]map[string]struct {
			NumReplicas, MaxBatch int
			Cost, Value           float64
			ITL                   float64 `json:"itlAverage_ms"`
			TTFT                  float64 `json:"ttftAverage_ms"`
			MaxRate               float64 `json:"maxArrvRatePerReplica_req_per_ms"`
		}
		Penalty float64
		PowerW  float64 `json:"power_W"`
	}
}

// goldenCases returns the recorded cases of one area.
func goldenCases(t *testing.T, area string) []goldenCase {
	t.Helper()
	return goldentest.Read[goldenCase](t, goldentest.Files{Beside: []string{"testdata/solver.json"}, Shared: []string{"solver.json"}}, area)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Max(math.Abs(want), 1e-9) {
		t.Errorf("%s: got %g, want %g", what, got, want)
	}
}

func TestCandidatesAreThoseRecorded(t *testing.T) {
	for _, c := range goldenCases(t, "solver") {
		t.Run(c.ID+" "+c.Case, func(t *testing.T) {
			spec, err := config.Parse(c.Inputs)
			if err != nil {
				t.Fatal(err)
			}
			system, err := FromConfig(spec, Published)
			if err != nil {
				t.Fatal(err)
			}
			for server, want := range c.Expected.Candidates {
				choice, ok := system.Choice(server)
				if !ok || len(choice.Candidates) != len(want) {
					t.Fatalf("server %s: got candidates %+v (refused: %v), want %+v", server, choice.Candidates, choice.Refused, want)
				}
				for _, got := range choice.Candidates {
					want, ok := want[got.Accelerator]
					if !ok {
						t.Errorf("server %s: candidate on %s is not among those recorded", server, got.Accelerator)
					}
					on := server + " on " + got.Accelerator + ": "
					if got.Replicas != want.NumReplicas || got.MaxBatch != want.MaxBatch {
						t.Errorf("%sgot %d replicas with batches of %d, want %d with %d",
							on, got.Replicas, got.MaxBatch, want.NumReplicas, want.MaxBatch)
					}
					near(t, on+"cost", got.Cost, want.Cost, c.Tolerance)
					near(t, on+"value", got.Value, want.Value, c.Tolerance)
					near(t, on+"ITL", got.ITL, want.ITL, c.Tolerance)
					near(t, on+"TTFT", got.TTFT, want.TTFT, c.Tolerance)
					near(t, on+"greatest rate", got.MaxRate/1000, want.MaxRate, c.Tolerance)
				}
			}
		})
	}
}

func TestPenaltyIsThatRecorded(t *testing.T) {
	for _, c := range goldenCases(t, "penalty") {
		var in struct {
			From, To struct {
				Acc      string
				Cost     float64
				Replicas int
			}
		}
		if err := json.Unmarshal(c.Inputs, &in); err != nil {
			t.Fatal(err)
		}
		from := Allocation{Accelerator: in.From.Acc, Cost: in.From.Cost, Replicas: in.From.Replicas}
		to := Allocation{Accelerator: in.To.Acc, Cost: in.To.Cost, Replicas: in.To.Replicas}
		near(t, c.ID, from.TransitionPenalty(to), c.Expected.Penalty, c.Tolerance)
	}
}

func TestPowerIsThatRecorded(t *testing.T) {
	for _, c := range goldenCases(t, "power") {
		var in struct{ Idle, Full, MidPower, MidUtil, Util float64 }
		if err := json.Unmarshal(c.Inputs, &in); err != nil {
			t.Fatal(err)
		}
		p := Power{Idle: in.Idle, Mid: in.MidPower, Full: in.Full, MidUtilization: in.MidUtil}
		near(t, c.ID, p.At(in.Util), c.Expected.PowerW, c.Tolerance)
	}
}

package core

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// candidates are those of a server, by accelerator.
type candidates map[string]struct {
	NumReplicas, MaxBatch int
	Cost, Value           float64
	ITL                   float64 `json:"itlAverage_ms"`
	TTFT                  float64 `json:"ttftAverage_ms"`
	MaxRate               float64 `json:"maxArrvRatePerReplica_req_per_ms"`
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Max(math.Abs(want), 1e-9) {
		t.Errorf("%s: got %g, want %g", what, got, want)
	}
}

func TestCandidatesAreThoseRecorded(t *testing.T) {
	for _, c := range goldentest.Read[json.RawMessage, struct{ Candidates map[string]candidates }](t, "solver") {
		t.Run(c.String(), func(t *testing.T) {
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
	type allocation struct {
		Acc      string
		Cost     float64
		Replicas int
	}
	for _, c := range goldentest.Read[struct{ From, To allocation }, struct{ Penalty float64 }](t, "penalty") {
		from, to := c.Inputs.From, c.Inputs.To
		got := Allocation{Accelerator: from.Acc, Cost: from.Cost, Replicas: from.Replicas}.
			TransitionPenalty(Allocation{Accelerator: to.Acc, Cost: to.Cost, Replicas: to.Replicas})
		near(t, c.ID, got, c.Expected.Penalty, c.Tolerance)
	}
}

func TestPowerIsThatRecorded(t *testing.T) {
	type curve struct{ Idle, Full, MidPower, MidUtil, Util float64 }
	type power struct {
		Watts float64 `json:"power_W"`
	}
	for _, c := range goldentest.Read[curve, power](t, "power") {
		p := Power{Idle: c.Inputs.Idle, Mid: c.Inputs.MidPower, Full: c.Inputs.Full, MidUtilization: c.Inputs.MidUtil}
		near(t, c.ID, p.At(c.Inputs.Util), c.Expected.Watts, c.Tolerance)
	}
}

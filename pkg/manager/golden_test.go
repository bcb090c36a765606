package manager

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

// goldenAnswer is a recorded answer of the published optimizer.
type goldenAnswer struct {
	Allocations map[string]*struct { // null: none
		Accelerator           string
		NumReplicas, MaxBatch int
		Cost                  float64
		ITL                   float64 `json:"itlAverage_ms"`
		TTFT                  float64 `json:"ttftAverage_ms"`
	}
}

func goldenCases(t *testing.T) []goldentest.Case[json.RawMessage, goldenAnswer] {
	t.Helper()
	return goldentest.Read[json.RawMessage, goldenAnswer](t, "solver")
}

func parse(t testing.TB, text []byte) config.System {
	t.Helper()
	spec, err := config.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestAllocationsAreThoseRecorded(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.String(), func(t *testing.T) {
			result, err := Optimize(parse(t, c.Inputs), Options{Rules: core.Published})
			if err != nil {
				t.Fatal(err)
			}
			got, err := result.Document()
			if err != nil {
				t.Fatal(err)
			}
			short := map[string]bool{}
			for _, s := range result.Solution.Shortfalls {
				short[s.Server] = true
			}
			near := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > c.Tolerance*math.Max(math.Abs(want), 1e-9) {
					t.Errorf("%s: got %g, want %g", what, got, want)
				}
			}
			for server, want := range c.Expected.Allocations {
				got, ok := got.Allocations[server]
				if want == nil {
					if ok || !short[server] {
						t.Errorf("%s: got %+v, named as short: %t; want nothing, and named", server, got, short[server])
					}
					continue
				}
				if got.Accelerator != want.Accelerator || got.NumReplicas != want.NumReplicas || got.MaxBatch != want.MaxBatch {
					t.Errorf("%s: got %+v, want %+v", server, got, *want)
				}
				near(server+" cost", got.Cost, want.Cost)
				near(server+" ITL", got.ITLAverage, want.ITL)
				near(server+" TTFT", got.TTFTAverage, want.TTFT)
			}
		})
	}
}

// TestExactIsNeverWorseThanRecorded compares the exact solver with the recorded
// answers: it serves at least as many servers, and as many at no higher a cost.
func TestExactIsNeverWorseThanRecorded(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.String(), func(t *testing.T) {
			spec := parse(t, c.Inputs)
			greedy, err := Optimize(spec, Options{Rules: core.Published})
			if err != nil {
				t.Fatal(err)
			}
			exact, err := Optimize(spec, Options{Rules: core.Published, Exact: &solver.MIPOptions{}})
			if err != nil {
				t.Fatal(err)
			}
			g, e := greedy.Solution, exact.Solution
			if len(e.Shortfalls) > len(g.Shortfalls) {
				t.Errorf("exact leaves %v short, greedy %v", e.Shortfalls, g.Shortfalls)
			}
			if e.Proof.Status != solver.Optimal {
				t.Errorf("got status %s, want optimal", e.Proof.Status)
			}
			if len(e.Shortfalls) == len(g.Shortfalls) && e.Objective > g.Objective*(1+1e-9) {
				t.Errorf("exact costs %g, greedy %g", e.Objective, g.Objective)
			}
		})
	}
}

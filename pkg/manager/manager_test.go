package manager

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

func example(t testing.TB) config.System {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "config", "testdata", "system.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func TestADocumentWithoutOptimizerIsAnError(t *testing.T) {
	spec := example(t)
	spec.OptimizerData.Optimizer = nil
	_, err := Optimize(spec, Options{})
	if !errors.Is(err, ErrNoOptimizer) || err.Error() != "missing optimizer spec" {
		t.Errorf("got %v, want %v", err, ErrNoOptimizer)
	}
}

func TestFaultsOfTheDocumentNameTheirField(t *testing.T) {
	spec := example(t)
	spec.OptimizerData.Optimizer.SaturationPolicy = "Fair"
	_, err := Optimize(spec, Options{})
	var field *config.FieldError
	if !errors.As(err, &field) || field.Key != "system.optimizerData.optimizer.saturationPolicy" {
		t.Errorf("got %v, want a FieldError of the policy", err)
	}
}

func TestOptionsOutOfRangeAreErrors(t *testing.T) {
	_, err := Optimize(example(t), Options{Exact: &solver.MIPOptions{Gap: -1}})
	if err == nil || !strings.Contains(err.Error(), "gap -1: want 0 or more") {
		t.Errorf("got %v, want the gap named", err)
	}
}

func TestUseByTypeIsThatOfTheSolution(t *testing.T) {
	r, err := Optimize(example(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"Intel-Gaudi-2-96GB": 0, "NVIDIA-A100-PCIE-80GB": 0}
	for _, a := range r.Solution.Assignments {
		want[a.Type] += a.Replicas * a.Units
	}
	for _, use := range r.ByType {
		if use.Count != want[use.Type] || use.Limit == 0 {
			t.Errorf("type %s: got %d of %d, want %d", use.Type, use.Count, use.Limit, want[use.Type])
		}
		delete(want, use.Type)
	}
	if len(want) > 0 || len(r.Solution.Assignments) != 2 {
		t.Errorf("types missing: %v; assignments: %+v", want, r.Solution.Assignments)
	}
}

func TestAMixHasNoDocument(t *testing.T) {
	mix := Result{Solution: solver.Solution{Assignments: []solver.Assignment{
		{Server: "a", Allocation: core.Allocation{Accelerator: "A"}}, {Server: "a", Allocation: core.Allocation{Accelerator: "B"}},
	}}}
	if _, err := mix.Document(); err == nil || !strings.Contains(err.Error(), `server "a" has several accelerators`) {
		t.Errorf("got %v, want the server named", err)
	}
}

// TestManyCallersAtOnce is for the race detector: callers share one document.
func TestManyCallersAtOnce(t *testing.T) {
	spec := example(t)
	want, err := Optimize(spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			options := Options{}
			if i%2 == 1 {
				options.Exact = &solver.MIPOptions{}
			}
			got, err := Optimize(spec, options)
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(want.ByType, got.ByType); diff != "" && i%2 == 0 {
				t.Errorf("caller %d (-want +got):\n%s", i, diff)
			}
		})
	}
	group.Wait()
}

func FuzzOptimize(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("..", "config", "testdata", "system.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(strings.Replace(string(text), "arrivalRate: 600", "arrivalRate: 6e9", 1))
	f.Add(strings.Replace(string(text), "maxBatchSize: 64", "maxBatchSize: 0", 1))
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := config.Parse([]byte(text))
		if err != nil || spec.OptimizerData.Optimizer == nil {
			return
		}
		for _, p := range spec.ModelData.Models {
			if p.MaxBatchSize > 1000 || p.AtTokens > 1000 {
				return // large tables take their time
			}
		}
		for _, s := range spec.ServerData.Servers {
			if s.MaxBatchSize > 1000 {
				return
			}
		}
		r, err := Optimize(spec, Options{Rules: core.Published})
		if err != nil {
			t.Fatalf("an accepted document is not optimized: %v", err)
		}
		for _, use := range r.ByType {
			if !spec.OptimizerData.Optimizer.Unlimited && use.Count > use.Limit {
				t.Errorf("%d of type %s are used, %d in stock", use.Count, use.Type, use.Limit)
			}
		}
		if n, m := len(spec.ServerData.Servers), len(r.Solution.Assignments); m > n {
			t.Errorf("%d assignments for %d servers", m, n)
		}
	})
}

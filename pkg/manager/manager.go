package manager

import (
	"errors"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

// ErrNoOptimizer is returned for a document without an optimizer.
var ErrNoOptimizer = errors.New("missing optimizer spec")

// Options are the options of Optimize that the document does not hold. The zero value is greedy, by
// the correct rules.
type Options struct {
	Rules core.Rules
	// Exact asks for a proven best solution; nil asks for a greedy one. Its Policy is taken from
	// the document.
	Exact *solver.MIPOptions
}

// Result is the answer.
type Result struct {
	Solution solver.Solution
	// ByType is the use of each type of accelerator by the solution.
	ByType []core.TypeUse
}

// optimizer is one of the solvers.
type optimizer interface {
	Solve(core.System, solver.Constraints) (solver.Solution, error)
}

var (
	_ optimizer = solver.GreedySolver{}
	_ optimizer = solver.MIPSolver{}
)

// Optimize finds an allocation for every server of a document. Errors are ErrNoOptimizer, those of
// config.System.Validate, and options out of range. A server that can have no allocation is no
// error: Solution.Shortfalls names it.
func Optimize(spec config.System, options Options) (Result, error) {
	if spec.OptimizerData.Optimizer == nil {
		return Result{}, ErrNoOptimizer
	}
	system, err := core.FromConfig(spec, options.Rules)
	if err != nil {
		return Result{}, err
	}
	o, err := choose(*spec.OptimizerData.Optimizer, options)
	if err != nil {
		return Result{}, err
	}
	stock := core.Stock(spec)
	s, err := o.Solve(system, solver.Constraints{Limited: !spec.OptimizerData.Optimizer.Unlimited, Stock: stock})
	if err != nil {
		return Result{}, fmt.Errorf("optimizing: %w", err)
	}
	allocations := make([]core.Allocation, 0, len(s.Assignments))
	for _, a := range s.Assignments {
		allocations = append(allocations, a.Allocation)
	}
	return Result{Solution: s, ByType: core.AllocateByType(allocations, stock)}, nil
}

// choose returns the solver that document and options ask for.
func choose(spec config.Optimizer, options Options) (optimizer, error) {
	if options.Exact != nil {
		exact := *options.Exact
		exact.Policy = spec.SaturationPolicy
		return solver.NewMIPSolver(exact)
	}
	return solver.NewGreedySolver(solver.GreedyOptions{
		Policy: spec.SaturationPolicy, DelayedBestEffort: spec.DelayedBestEffort,
	})
}

// Document returns the answer as a document: one allocation for each server; servers without one
// are absent. A document cannot hold a mix: a server with several accelerators is an error.
func (r Result) Document() (config.Solution, error) {
	out := config.Solution{Allocations: make(map[string]config.Allocation, len(r.Solution.Assignments))}
	for _, a := range r.Solution.Assignments {
		if _, twice := out.Allocations[a.Server]; twice {
			return config.Solution{}, fmt.Errorf("server %q has several accelerators: a document holds one for each server", a.Server)
		}
		out.Allocations[a.Server] = config.Allocation{
			Accelerator: a.Accelerator, NumReplicas: a.Replicas, MaxBatch: a.MaxBatch,
			Cost: a.Cost, ITLAverage: a.ITL, TTFTAverage: a.TTFT,
		}
	}
	return out, nil
}

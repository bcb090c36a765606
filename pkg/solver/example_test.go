package solver_test

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

// twoServers is a system of two servers with a load in requests/s that may run on
// fast or slow cards.
func twoServers(rate float64) (core.System, error) {
	profile := func(accelerator string, alpha float64) core.Profile {
		return core.Profile{
			Accelerator: accelerator, MaxBatch: 32, AtTokens: 128,
			Service: analyzer.FourParameter{Alpha: alpha, Beta: 0.3, Gamma: 5, Delta: 0.1},
		}
	}
	load := core.Load{ArrivalRate: rate, InputTokens: 128, OutputTokens: 128}
	return core.NewSystem(core.Parts{
		Accelerators: []core.Accelerator{{Name: "fast", Cost: 65}, {Name: "slow", Cost: 40}},
		Models:       []core.Model{{Name: "llama", Profiles: []core.Profile{profile("fast", 8), profile("slow", 20)}}},
		Classes: []core.ServiceClass{
			{Name: "Premium", Priority: 1, Targets: []core.Target{{Model: "llama", ITL: 24, TTFT: 500}}},
			{Name: "Free", Priority: 10, Targets: []core.Target{{Model: "llama", ITL: 40, TTFT: 2000}}},
		},
		Servers: []core.Server{
			{Name: "chat", Class: "Premium", Model: "llama", Load: load},
			{Name: "batch", Class: "Free", Model: "llama", Load: load},
		},
	}, core.Correct)
}

func ExampleGreedySolver() {
	system, err := twoServers(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	greedy, err := solver.NewGreedySolver(solver.GreedyOptions{Policy: config.PolicyPriorityExhaustive})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := greedy.Solve(system, solver.Constraints{Limited: true, Stock: map[string]int{"fast": 1, "slow": 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range s.Assignments {
		fmt.Printf("%s: %d of %d on %s\n", a.Server, a.Replicas, a.Wanted, a.Accelerator)
	}
	for _, x := range s.Shortfalls {
		fmt.Printf("%s: %s\n", x.Server, x)
	}
	// Output:
	// batch: 1 of 2 on slow
	// chat: 1 of 1 on fast
	// batch: fast takes 1 of type fast, 0 left; slow takes 2 of type slow, 0 left
}

// A mix of accelerators may share the load of one server.
func ExampleMIPSolver() {
	system, err := twoServers(14)
	if err != nil {
		fmt.Println(err)
		return
	}
	exact, err := solver.NewMIPSolver(solver.MIPOptions{Mix: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := exact.Solve(system, solver.Constraints{Limited: true, Stock: map[string]int{"fast": 1, "slow": 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range s.Assignments {
		fmt.Printf("%s: %d on %s\n", a.Server, a.Replicas, a.Accelerator)
	}
	fmt.Printf("%s: %.0f per hour\n", s.Proof.Status, s.Cost)
	// Output:
	// batch: 2 on slow
	// chat: 1 on fast
	// chat: 1 on slow
	// optimal: 185 per hour
}

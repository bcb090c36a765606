package core_test

import (
	"errors"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

func llamaOnA100() core.Placement {
	return core.Placement{
		Server: core.Server{
			Name: "chat", Class: "Premium", Model: "llama-8b",
			Load: core.Load{ArrivalRate: 10, InputTokens: 128, OutputTokens: 128},
		},
		Target:      core.Target{Model: "llama-8b", ITL: 24, TTFT: 500},
		Accelerator: core.Accelerator{Name: "A100", Cost: 40},
		Profile: core.Profile{
			Accelerator: "A100", MaxBatch: 64, AtTokens: 128,
			Service: analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
		},
	}
}

// Ten requests/s on A100s, with objectives of 24 ms for ITL and 500 ms for TTFT.
func ExampleCreateAllocation() {
	a, err := core.CreateAllocation(llamaOnA100(), core.Correct)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d replicas at %.0f per hour, ITL %.1f ms, %.2f requests/s each at most\n",
		a.Replicas, a.Cost, a.ITL, a.MaxRate)
	// Output: 5 replicas at 200 per hour, ITL 23.5 ms, 2.32 requests/s each at most
}

// What is out of reach says what would be in reach.
func ExampleInfeasibleError() {
	p := llamaOnA100()
	p.Target.ITL = 15
	_, err := core.CreateAllocation(p, core.Correct)
	if target, ok := errors.AsType[*analyzer.TargetError](err); ok {
		fmt.Printf("%s of %g ms is out of reach, the best is %.2f ms\n", target.Target, target.Wanted, target.Best)
	}
	// Output: ITL of 15 ms is out of reach, the best is 20.99 ms
}

package manager_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/manager"
)

func ExampleOptimize() {
	spec, err := config.Parse([]byte(`
system:
  acceleratorData:
    accelerators: [{name: A100, cost: 40}, {name: G2, cost: 23}]
  modelData:
    models:
      - {name: llama-8b, acc: A100, maxBatchSize: 64, atTokens: 128,
         decodeParms: {alpha: 20.58, beta: 0.41}, prefillParms: {gamma: 5.2, delta: 0.1}}
      - {name: llama-8b, acc: G2, maxBatchSize: 32, atTokens: 128,
         decodeParms: {alpha: 17.15, beta: 0.34}, prefillParms: {gamma: 6, delta: 0.12}}
  serviceClassData:
    serviceClasses:
      - {name: Premium, priority: 1, modelTargets: [{model: llama-8b, slo-itl: 24, slo-ttft: 500}]}
  serverData:
    servers:
      - {name: chat, class: Premium, model: llama-8b,
         currentAlloc: {load: {arrivalRate: 600, avgInTokens: 128, avgOutTokens: 128}}}
  optimizerData:
    optimizer: {unlimited: true}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := manager.Optimize(spec, manager.Options{Rules: core.Published})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := result.Document()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, server := range slices.Sorted(maps.Keys(answer.Allocations)) {
		a := answer.Allocations[server]
		fmt.Printf("%s: %d replicas on %s at %.0f per hour\n", server, a.NumReplicas, a.Accelerator, a.Cost)
	}
	// Output: chat: 2 replicas on G2 at 46 per hour
}

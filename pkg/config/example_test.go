package config_test

import (
	"errors"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// A document is validated as a whole: every fault names its field.
func ExampleParse() {
	_, err := config.Parse([]byte(`
system:
  acceleratorData:
    accelerators: [{name: A100, cost: -40}]
  serverData:
    servers: [{name: chat, class: Gold, model: llama-8b}]
`))
	fmt.Println(err)
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		fmt.Println("first:", field.Key)
	}
	// Output:
	// system.acceleratorData.accelerators[0].cost: -40 is not accepted: want 0 to 1e+12
	// system.serverData.servers[0].class: "Gold" is not accepted: want the name of a declared service class
	// first: system.acceleratorData.accelerators[0].cost
}

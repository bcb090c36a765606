package settings

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Engine names the analyzers that decide about a model.
type Engine string

// The engines. Any other value, the zero value among them, is Saturation.
const (
	Saturation Engine = "saturation"
	Queueing   Engine = "queueing"
	Hybrid     Engine = "hybrid"
	// Published is spare capacity by the published rule, one replica at a time,
	// whatever the Method.
	Published Engine = "published"
)

// EngineOf returns the engine of a name in a record. Queueing was published as "model".
func EngineOf(name Engine) Engine {
	if name == "model" {
		return Queueing
	}
	return name
}

// Method is how saturation is measured.
type Method string

// The methods. Any other value, the zero value among them, is Spare.
const (
	Spare  Method = "spare"  // spare KV cache and queue
	Tokens Method = "tokens" // capacity and demand in tokens
)

// Model is how one model is decided, fully resolved. It holds the thresholds of both methods;
// Tokens is read only where the Method is Tokens. A record carries it by its JSON names.
type Model struct {
	// Engine is the engine that decides: saturation, queueing (published as model), hybrid or
	// published. If left out, it is saturation.
	Engine Engine `json:"engine,omitempty"`
	// Method is how saturation is measured: spare capacity, or tokens. If left out, it is spare.
	Method Method `json:"method,omitempty"`
	// Saturation holds the thresholds of the spare capacity analysis. Those left out have their
	// defaults.
	Saturation saturation.Thresholds `json:"saturation"`
	// Tokens holds the thresholds of the token capacity analysis. Those left out have their
	// defaults.
	Tokens saturation.TokenThresholds `json:"tokens"`
	// Objective is what requests of the model should meet.
	Objective scaling.Objective `json:"objective,omitzero"`
	// Sizing holds the options of the queueing models. Those left out have their defaults.
	Sizing queueing.Options `json:"sizing"`
	// Limited says that the model grows only onto accelerators in the inventory.
	Limited bool `json:"limited,omitempty"`
	// ShareProfiles says that the speed learned of the replicas of the model is a prior for models
	// of the same ID in other namespaces that also set this, and the reverse.
	ShareProfiles bool `json:"shareProfiles,omitempty"`
	// Pacing limits how fast the decisions of the model may change.
	Pacing constrain.Pacing `json:"pacing"`
}

// Default returns the documented settings, token capacity at its thresholds, without a limit of
// pace.
func Default() Model {
	return Model{
		Engine: Saturation, Method: Tokens, Saturation: saturation.Default(), Tokens: saturation.DefaultTokens(), Sizing: queueing.Default(),
	}
}

package model

import (
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
func EngineOf(name string) Engine {
	if name == "model" {
		return Queueing
	}
	return Engine(name)
}

// Method is how saturation is measured.
type Method string

// The methods. Any other value, the zero value among them, is Spare.
const (
	Spare  Method = "spare"  // spare KV cache and queue
	Tokens Method = "tokens" // capacity and demand in tokens
)

// Settings is how one model is decided, fully resolved. Spare and Tokens hold the thresholds of
// both methods; Tokens is read only where the Method is Tokens.
type Settings struct {
	Engine    Engine                     `json:"engine,omitempty"`
	Method    Method                     `json:"method,omitempty"`
	Spare     saturation.Thresholds      `json:"spare"`
	Tokens    saturation.TokenThresholds `json:"tokens"`
	Objective scaling.Objective          `json:"objective,omitzero"`
	Sizing    queueing.Options           `json:"sizing"`
	// Limited says that the model grows only onto accelerators that exist.
	Limited bool `json:"limited,omitempty"`
	// ShareProfiles makes the learned profiles of the model priors for models of the same ID in
	// other namespaces whose settings say the same, and the reverse.
	ShareProfiles bool `json:"shareProfiles,omitempty"`
}

// Default returns the documented settings: token capacity at its thresholds.
func Default() Settings {
	return Settings{
		Engine: Saturation, Method: Tokens, Spare: saturation.Default(), Tokens: saturation.DefaultTokens(), Sizing: queueing.Default(),
	}
}

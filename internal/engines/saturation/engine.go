// Package saturation is the primary engine: a cycle that analyzes models by
// their spare capacity.
package saturation

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Analyzer returns the spare-capacity analysis under the policy that policyOf
// answers for each model. policyOf returns a fully resolved policy, always.
func Analyzer(policyOf func(scaling.ModelKey) saturation.Policy) cycle.Analyzer {
	return func(snap scaling.Snapshot) scaling.Analysis {
		return saturation.Analyze(snap, policyOf(snap.Model))
	}
}

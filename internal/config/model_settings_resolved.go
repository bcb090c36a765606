package config

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Resolved returns the settings by which the model is decided. kvCacheThreshold and
// queueLengthThreshold say when a replica is full, for both ways to measure saturation.
func (p ModelSettings) Resolved() settings.Model {
	s := settings.Model{
		Engine: settings.Engine(p.Engine), Method: settings.Spare, Saturation: p.Saturation,
		Tokens: saturation.TokenThresholds{
			KVCacheThreshold: p.Saturation.KVCacheThreshold, QueueLengthThreshold: p.Saturation.QueueLengthThreshold,
			ScaleUpThreshold: p.ScaleUpThreshold, ScaleDownBoundary: p.ScaleDownBoundary,
		},
		Objective: p.objective(),
		Sizing:    queueing.Options{TTFTPercentile: p.TTFTPercentile, ITLPercentile: p.ITLPercentile},
		Limited:   p.Limited, ShareProfiles: p.ShareProfiles,
		Pacing: constrain.Pacing{
			ScaleUpStabilization: p.ScaleUpStabilization, ScaleDownStabilization: p.ScaleDownStabilization,
			ScaleDownStartUps: p.ScaleDownStartUps,
			MaxScaleUpStep:    scaling.Replicas(p.MaxScaleUpStep), MaxScaleDownStep: scaling.Replicas(p.MaxScaleDownStep),
			Zero: constrain.Zero{Enabled: p.ScaleToZero.Enabled, Retention: p.ScaleToZero.Retention},
		},
	}
	if p.MaxScaleDownStep == StepAuto {
		s.Pacing.MaxScaleDownStep, s.Pacing.SurplusAtOnce = 1, true
	}
	if p.CountsTokens() {
		s.Method = settings.Tokens
	}
	if p.Engine == EngineTokens {
		s.Engine = settings.Saturation
	}
	return s
}

// objective returns the objective of the model, the zero value where it has no service class.
func (p ModelSettings) objective() scaling.Objective {
	o := scaling.Objective{Class: p.Objective.Class, Priority: p.Objective.Priority, TTFT: p.Objective.TTFT, ITL: p.Objective.ITL}
	if o.Set() {
		o.Attainment, o.AttainmentWindow = p.Attainment, p.AttainmentWindow
	}
	return o
}

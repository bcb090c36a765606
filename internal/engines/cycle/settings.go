package cycle

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ModelSettings is how one model is decided, fully resolved.
type ModelSettings struct {
	Settings model.Settings
	Pacing   constrain.Pacing // how fast its decisions may change, and whether it may go to zero
}

// Configured returns the settings of a model from its configuration. kvCacheThreshold and
// queueLengthThreshold say when a replica is full, for both ways to measure saturation.
func Configured(p config.ModelSettings) ModelSettings {
	s := model.Settings{
		Engine: model.Engine(p.Engine), Method: model.Spare, Spare: p.Saturation,
		Tokens: saturation.TokenThresholds{
			KVCacheThreshold: p.Saturation.KVCacheThreshold, QueueLengthThreshold: p.Saturation.QueueLengthThreshold,
			ScaleUpThreshold: p.ScaleUpThreshold, ScaleDownBoundary: p.ScaleDownBoundary,
		},
		Objective: Objective(p),
		Sizing:    queueing.Options{TTFTPercentile: p.TTFTPercentile, ITLPercentile: p.ITLPercentile},
		Limited:   p.Limited, ShareProfiles: p.ShareProfiles,
	}
	if p.CountsTokens() {
		s.Method = model.Tokens
	}
	if p.Engine == config.EngineTokens {
		s.Engine = model.Saturation
	}
	return ModelSettings{Settings: s, Pacing: constrain.Pacing{
		ScaleUpStabilization: p.ScaleUpStabilization, ScaleDownStabilization: p.ScaleDownStabilization,
		ScaleDownStartUps: p.ScaleDownStartUps,
		MaxScaleUpStep:    scaling.Replicas(p.MaxScaleUpStep), MaxScaleDownStep: scaling.Replicas(p.MaxScaleDownStep),
		Zero: constrain.Zero{Enabled: p.ScaleToZero.Enabled, Retention: p.ScaleToZero.Retention},
	}}
}

// Objective returns the objective of a model, the zero value where it has no service class.
func Objective(p config.ModelSettings) scaling.Objective {
	o := scaling.Objective{Class: p.Objective.Class, Priority: p.Objective.Priority, TTFT: p.Objective.TTFT, ITL: p.Objective.ITL}
	if o.Set() {
		o.Attainment, o.AttainmentWindow = p.Attainment, p.AttainmentWindow
	}
	return o
}

package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

func TestAnEmptyConfigurationComesToTheDocumentedSettings(t *testing.T) {
	want := settings.Default()
	want.Pacing = constrain.Pacing{
		ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1, MaxScaleDownStep: 1, SurplusAtOnce: true,
		Zero: constrain.Zero{Retention: 10 * time.Minute},
	}
	if diff := cmp.Diff(want, applied(t).Policy(llama).Resolved()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryConfiguredFieldReachesItsEngine(t *testing.T) {
	got := applied(t,
		system(saturationMap, "default", `
kvCacheThreshold: 0.7
queueLengthThreshold: 9
kvSpareTrigger: 0.2
queueSpareTrigger: 4
enableLimiter: true
analyzerName: saturation
scaleUpThreshold: 0.8
scaleDownBoundary: 0.6
engine: hybrid
scaleUpStabilization: 1m
scaleDownStabilization: 3m
maxScaleUpStep: 5
scaleDownStartUps: 2.5
maxScaleDownStep: 6
ttftPercentile: 0.95
itlPercentile: 0.5
attainment: 0.9
attainmentWindow: 2h
`),
		system(zeroMap, "default", "enable_scale_to_zero: true", "model.llama", "modelID: meta/llama\nretentionPeriod: 7m"),
		system(classesMap, "premium", "name: premium\npriority: 3\ndata:\n  - model: meta/llama\n    slo-ttft: 700\n    slo-tpot: 30\n"),
	).Policy(llama).Resolved()
	want := settings.Model{
		Engine: settings.Hybrid, Method: settings.Tokens, Limited: true,
		Saturation: saturation.Thresholds{KVCacheThreshold: 0.7, QueueLengthThreshold: 9, KVSpareTrigger: 0.2, QueueSpareTrigger: 4},
		Tokens:     saturation.TokenThresholds{KVCacheThreshold: 0.7, QueueLengthThreshold: 9, ScaleUpThreshold: 0.8, ScaleDownBoundary: 0.6},
		Objective:  scaling.Objective{Class: "premium", Priority: 3, TTFT: 700, ITL: 30, Attainment: 0.9, AttainmentWindow: 2 * time.Hour},
		Sizing:     queueing.Options{TTFTPercentile: 0.95, ITLPercentile: 0.5},
		Pacing: constrain.Pacing{
			ScaleUpStabilization: time.Minute, ScaleDownStabilization: 3 * time.Minute, ScaleDownStartUps: 2.5, MaxScaleUpStep: 5, MaxScaleDownStep: 6,
			Zero: constrain.Zero{Enabled: true, Retention: 7 * time.Minute},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package cycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// policyOf configures a model with the entries of ConfigMaps.
func policyOf(t *testing.T, data map[config.Kind]map[string]string) ModelSettings {
	t.Helper()
	const here = "system"
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: here})
	if err != nil {
		t.Fatal(err)
	}
	var sources []config.Source
	for kind, entries := range data {
		sources = append(sources, config.Source{Namespace: here, Name: config.PublishedNames()[kind][0], Data: entries})
	}
	store.Apply(sources)
	if found := store.Snapshot().Findings(); len(found) > 0 {
		t.Fatalf("not in force: %v", found)
	}
	return Configured(store.Snapshot().Policy(scaling.ModelKey{Namespace: "ns", ID: "m"}))
}

func TestAnEmptyConfigurationComesToTheDocumentedSettings(t *testing.T) {
	want := ModelSettings{Settings: model.Default(), Pacing: constrain.Pacing{
		ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1, MaxScaleDownStep: 1, Zero: constrain.Zero{Retention: 10 * time.Minute},
	}}
	if diff := cmp.Diff(want, policyOf(t, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryConfiguredFieldReachesItsEngine(t *testing.T) {
	got := policyOf(t, map[config.Kind]map[string]string{
		config.KindSaturation: {"default": `
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
`},
		config.KindScaleToZero:    {"default": "enable_scale_to_zero: true", "model.m": "modelID: m\nretentionPeriod: 7m"},
		config.KindServiceClasses: {"premium": "name: premium\npriority: 3\ndata:\n  - model: m\n    slo-ttft: 700\n    slo-tpot: 30\n"},
	})
	want := ModelSettings{
		Settings: model.Settings{
			Engine: model.Hybrid, Method: model.Tokens, Limited: true,
			Spare:     saturation.Thresholds{KVCacheThreshold: 0.7, QueueLengthThreshold: 9, KVSpareTrigger: 0.2, QueueSpareTrigger: 4},
			Tokens:    saturation.TokenThresholds{KVCacheThreshold: 0.7, QueueLengthThreshold: 9, ScaleUpThreshold: 0.8, ScaleDownBoundary: 0.6},
			Objective: scaling.Objective{Class: "premium", Priority: 3, TTFT: 700, ITL: 30, Attainment: 0.9, AttainmentWindow: 2 * time.Hour},
			Sizing:    queueing.Options{TTFTPercentile: 0.95, ITLPercentile: 0.5},
		},
		Pacing: constrain.Pacing{
			ScaleUpStabilization: time.Minute, ScaleDownStabilization: 3 * time.Minute, ScaleDownStartUps: 2.5, MaxScaleUpStep: 5, MaxScaleDownStep: 6,
			Zero: constrain.Zero{Enabled: true, Retention: 7 * time.Minute},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

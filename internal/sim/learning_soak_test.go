//go:build soak

package sim

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// TestHalfAnHourTeachesHowFastMeasuredReplicasAre is for all recommended profiles, of which nine of ten
// intervals hold what replicas do, nearly. Where no KV cache was measured it holds 200,000 tokens.
func TestHalfAnHourTeachesHowFastMeasuredReplicasAre(t *testing.T) {
	content, err := os.ReadFile(goldentest.Shared(t, "traces", "profiles.json"))
	if err != nil {
		t.Fatal(err)
	}
	var measured struct {
		Profiles []struct {
			ID    string  `json:"id"`
			Alpha float64 `json:"alpha_ms"`
			Beta  float64 `json:"beta_ms"`
			Gamma float64 `json:"gamma_ms"`
			Delta float64 `json:"delta_ms_per_input_token"`
			KV    int     `json:"kv_cache_tokens"`
		} `json:"profiles"`
		Recommended []string `json:"recommended_ids"`
	}
	if err := json.Unmarshal(content, &measured); err != nil {
		t.Fatal(err)
	}
	var a accuracy
	for i, m := range measured.Profiles {
		if !slices.Contains(measured.Recommended, m.ID) {
			continue
		}
		kv := min(cmp.Or(m.KV, 200_000), 1<<21)
		a.add(t, serving.Profile{
			Name: m.ID, Accelerator: "any", AlphaMS: m.Alpha, BetaMS: m.Beta, GammaMS: m.Gamma, DeltaMS: m.Delta,
			MaxBatchSize: 256, MaxBatchedTokens: 2048, KVCacheTokens: kv, BlockSize: 16, MaxModelLen: kv,
		}, uint64(i))
	}
	a.check(t)
	for what, held := range map[string]float64{"ITL": a.heldITL, "TTFT": a.heldTTFT} {
		if part := held / a.within; part < 0.85 || part > 0.95 {
			t.Errorf("%.3f of the intervals of the %s hold what is, want 0.85 to 0.95", part, what)
		}
	}
}

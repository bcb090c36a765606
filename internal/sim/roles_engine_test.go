package sim

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// TestOursGrowsTheRoleThatHasMoreToDo has prompts, and then answers, that are ten times as long after
// a quarter of an hour, at 6 requests/s. Prefill has 1.4 times what a replica can do then, and
// decode in the other case 2400 tokens/s, of which a replica generates 1500 within the objective.
func TestOursGrowsTheRoleThatHasMoreToDo(t *testing.T) {
	for _, tt := range []struct {
		name          string
		input, output int // tokens, from the change on
		grows, stays  scaling.Role
	}{
		{name: "longer prompts", input: 4000, output: 40, grows: scaling.RolePrefill, stays: scaling.RoleDecode},
		{name: "longer answers", input: 400, output: 400, grows: scaling.RoleDecode, stays: scaling.RolePrefill},
	} {
		const change, end = 15 * time.Minute, 40 * time.Minute
		m := partsModel(func(yield func(workload.Request, error) bool) {
			for now := time.Duration(0); now < end; now += time.Second / 6 {
				r := workload.Request{At: now, InputTokens: 400, OutputTokens: 40}
				if now >= change {
					r.InputTokens, r.OutputTokens = tt.input, tt.output
				}
				if !yield(r, nil) {
					return
				}
			}
		})
		m.Transfer, m.SLO = DefaultTransfer(), SLO{TTFT: 1500, ITL: 40, Attainment: 0.9}
		how := settings.Default()
		how.Engine, how.Objective = settings.Hybrid, scaling.Objective{Class: "c", Priority: 1, TTFT: m.SLO.TTFT, ITL: m.SLO.ITL, Attainment: 0.9}
		p := testProfile()
		stated := scaling.Profile{Source: "stated", Alpha: p.AlphaMS, Beta: p.BetaMS, Gamma: p.GammaMS, Delta: p.DeltaMS, MaxBatchSize: p.MaxBatchSize}
		engine := NewEngine(EngineOptions{
			Name:    "hybrid",
			Policy:  func(scaling.ModelKey) settings.Model { return how },
			Profile: func(scaling.VariantKey) scaling.Profile { return stated },
		})
		var before, after map[scaling.Role]scaling.Replicas
		c := Config{Models: []Model{m}, Duration: end, OnInterval: func(i Interval) {
			wanted := map[scaling.Role]scaling.Replicas{scaling.RoleDecode: i.Variants[0].Wanted, scaling.RolePrefill: i.Variants[1].Wanted}
			switch i.End {
			case change:
				before = wanted
			case end:
				after = wanted
			}
		}}
		if _, err := Run(t.Context(), c, engine); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if after[tt.grows] <= before[tt.grows] || after[tt.stays] > before[tt.stays] {
			t.Errorf("%s: %v became %v, want more of %s only", tt.name, before, after, tt.grows)
		}
	}
}

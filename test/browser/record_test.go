package browser

import (
	"context"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard/web"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// recorded writes six hours of a simulated model as its manager would record them, with a last line
// that is cut off, and returns the file.
func recorded(t *testing.T) string {
	t.Helper()
	variant := func(name, accelerator string, cost float64, replicas scaling.Replicas) plant.Variant {
		return plant.Variant{
			Spec: scaling.Variant{
				Key: scaling.VariantKey{Namespace: "prod", Name: name}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
				Accelerator: accelerator, GPUsPerReplica: 1, Cost: cost, CostSource: scaling.CostVariant, Bounds: scaling.Bounds{Min: 1, Max: 20},
				Profile: scaling.Profile{Source: "test", Alpha: 20, Beta: 0.6, Gamma: 5, Delta: 0.02, MaxBatchSize: 64},
			},
			KVTokens: 100_000, StartUp: 2 * time.Minute, Replicas: replicas,
		}
	}
	c := plant.Config{
		Model: scaling.ModelKey{Namespace: "prod", ID: "meta/llama-3.1-8b"}, Tick: 30 * time.Second, Patience: time.Minute, InputTokens: 500, OutputTokens: 200,
		Load:     func(at time.Duration) float64 { return 14 + 11*math.Sin(2*at.Hours()) },
		Settings: settings.Default(),
		Variants: []plant.Variant{variant("llama-l40s", "L40S", 2, 2), variant("llama-h100", "H100", 8, 1)},
	}
	c.Settings.Engine, c.Settings.Objective = settings.Hybrid, scaling.Objective{Class: "gold", TTFT: 2000, ITL: 60}
	var lines strings.Builder
	n := 0
	plant.Run(c, 6*time.Hour, func(tick plant.Tick) bool {
		from := tick.Case
		n++
		from.Cycle = scaling.CycleID(fmt.Sprintf("k7hw2cxd-%d", n))
		decided := cycle.Decided{Setup: tick.Setup, Case: from, Plan: tick.Verdict.Plan}
		lines.Write(decided.Recorded().Append(nil))
		lines.WriteByte('\n')
		return true
	})
	name := filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(name, []byte(lines.String()+`{"format":1,"cyc`), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestARecordedSimulationIsShown drives the pages of the real server with a file of recorded cycles.
func TestARecordedSimulationIsShown(t *testing.T) {
	if allocator == nil {
		t.Skip("no Chromium")
	}
	source := dashboard.NewRecorded([]string{recorded(t)}, time.Now)
	server := dashboard.New(dashboard.Options{Source: source, Assets: web.Assets()})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx) }()
	at := httptest.NewUnstartedServer(server.Handler())
	at.Config.BaseContext = server.HTTP(ctx).BaseContext
	at.Start()
	t.Cleanup(func() {
		stop()
		at.CloseClientConnections()
		at.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	b := openAt(t, at.URL+"/?token="+server.Token(), look{})
	b.forgive("log: Failed to load resource: the server responded with a status of 503") // before the first cycle is read
	b.wait("document.querySelector('.rows .row')")
	b.shows("meta/llama-3.1-8b")
	b.shows("Record ")
	b.shows("line 721: the line is torn")
	b.click(".rows .c-name a")
	b.wait("document.querySelectorAll('.time .series').length > 5 && document.querySelectorAll('.decisions a').length > 5")
	if got := eval[int](b, "[...document.querySelectorAll('.time figure')].filter((f) => f.innerText.includes('not known')).map((f) => f.innerText).length"); got > 0 {
		t.Errorf("%d charts of a simulated model are not known", got)
	}
	b.click(".decisions a")
	b.wait("document.querySelector('.verdict') && document.querySelectorAll('.step').length >= 4")
	b.shows("Why not fewer?")
	b.run(chromedp.NavigateBack())
	b.wait("document.querySelector('.ways')")
	b.click(".ways a")
	b.wait("document.querySelectorAll('.replica').length > 3")
	b.run(chromedp.NavigateBack())
	b.wait("document.querySelector('.ways')")
	b.click(".ways a:last-child")
	b.shows("decide otherwise")
	eval[any](b, "(() => { const i = document.querySelector('[aria-label=\"llama-h100, Minimum\"]'); i.value = 5; i.dispatchEvent(new Event('input')); })()")
	b.wait("[...document.querySelectorAll('.totals dt')].some((d) => /difference \\(\\+\\d/.test(d.textContent))")
}

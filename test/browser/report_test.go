package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/report"
)

// TestTheReportOfASimulationHasTheSameCharts opens a report, whose charts are those of the dashboard.
func TestTheReportOfASimulationHasTheSameCharts(t *testing.T) {
	result := report.Result{Name: "ours", Own: true, Variants: []string{"a"}, Decisions: []report.Decision{{At: 20 * time.Minute, Variant: "a", From: 1, To: 2, Reason: "more load than 1 replica serves"}}}
	scenario := report.Scenario{Name: "an hour", Objectives: report.Objectives{TTFT: 500, Attainment: 0.95}}
	for minute := range 60 {
		at := time.Duration(minute) * time.Minute
		scenario.Offered = append(scenario.Offered, report.Point{At: at, Value: 1 + float64(minute)/20})
		result.Samples = append(result.Samples, report.Sample{At: at, TTFT: 100 + float64(minute), ITL: 20, Replicas: []scaling.Replicas{scaling.Replicas(1 + minute/20)}})
	}
	scenario.Policies = []report.Result{result}
	var text strings.Builder
	if err := report.Write(&text, report.Document{Scenarios: []report.Scenario{scenario}}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openAt(t, "file://"+name, look{})
	if got := eval[int](b, "document.querySelectorAll('.time figure').length"); got != 5 {
		t.Fatalf("%d charts, want 5", got)
	}
	eval[any](b, "document.querySelector('.time').focus()")
	eval[any](b, "document.querySelector('.time').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', shiftKey: true, bubbles: true }))")
	if got := eval[string](b, "document.getElementById('tip').innerText"); !strings.Contains(got, "0:20:00") || !strings.Contains(got, "more load than 1 replica serves") {
		t.Errorf("at the decision the box says %q", got)
	}
	before := eval[string](b, "document.querySelector('.time .series').getAttribute('d')")
	b.press("+")
	if eval[string](b, "document.querySelector('.time .series').getAttribute('d')") == before {
		t.Error("plus does not zoom")
	}
	b.shows("Whole run")
	b.press(kb.Escape)
	b.wait("!document.body.innerText.includes('Whole run')")
}

package monitoring

import (
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// boards returns the dashboards by the names of their files.
func boards(t *testing.T) map[string]*dashboard.Dashboard {
	t.Helper()
	files, err := filepath.Glob(home + "dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	out := map[string]*dashboard.Dashboard{}
	for _, file := range files {
		board, err := dashboard.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = board
	}
	return out
}

// recorded returns a Prometheus with a recording, and how to look at all of it.
func recorded(t *testing.T, r Recording) (*dashboard.Server, dashboard.Look) {
	t.Helper()
	s := open(t, r.End())
	if err := r.Record(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	prometheus, err := dashboard.Dial(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return prometheus, dashboard.Look{
		At: r.End(), Range: r.Before + r.After, Step: 2 * time.Minute, Scrape: Interval,
		Choice: map[string]string{},
	}
}

// TestEveryQueryOfEveryPanelReturnsData needs no recording rule: none is evaluated.
// It looks at a healthy fleet and, for what is shown of a fault alone, at a variant
// whose growth is held.
func TestEveryQueryOfEveryPanelReturnsData(t *testing.T) {
	for _, honor := range []bool{false, true} {
		prometheus, look := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 3 * time.Hour, HonorLabels: honor})
		held, short := recorded(t, Recording{Fault: Held, Begin: noon, After: 30 * time.Minute, HonorLabels: honor})
		for name, board := range boards(t) {
			faulty, err := board.Ask(t.Context(), held, short)
			if err != nil {
				t.Fatal(err)
			}
			sheet, err := board.Ask(t.Context(), prometheus, look)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range sheet.Answers {
				for _, target := range a.Panel.Targets {
					shown := a.Shown(target.RefID)
					if strings.Contains(target.Expr, metrics.GrowthHeld) {
						shown = faulty.Answers[i].Shown(target.RefID)
					}
					if shown == 0 {
						t.Errorf("honor_labels %t: %s, %q: query %s returns nothing: %s", honor, name, a.Panel.Title, target.RefID, target.Expr)
					}
				}
			}
		}
	}
}

// TestNoPanelStaysEmptyWithoutWords looks at a cluster without a VariantAutoscaling,
// at one that is not scraped, and at a model that is not there.
func TestNoPanelStaysEmptyWithoutWords(t *testing.T) {
	noVA, look := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 30 * time.Minute, Empty: true})
	nothing, _ := recorded(t, Recording{Fault: Gone, Begin: noon, Empty: true})
	healthy, _ := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 30 * time.Minute})
	idle, _ := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 30 * time.Minute, Idle: true})
	at := func(model string) dashboard.Look {
		look := look
		look.Choice = map[string]string{"namespace": "chat", "model": model}
		return look
	}
	for _, c := range []struct {
		name       string
		prometheus *dashboard.Server
		look       dashboard.Look
		says       map[string]string // what some panels say
	}{
		{"no VariantAutoscaling", noVA, look, map[string]string{
			"VariantAutoscalings": "none", "Desired replicas": "No VariantAutoscaling has a decision here. kubectl get va -A", "Managers": "",
		}},
		{"nothing is scraped", nothing, look, map[string]string{"Managers": "none scraped", "Cycles in 10 minutes": "inert"}},
		{"no request", idle, at("meta/llama-3.1-8b"), map[string]string{"TTFT, 9 of 10 requests": "no request in 5 minutes"}},
		{"no such model", healthy, at("no-such-model"), map[string]string{"KV cache usage by replica": "Prometheus has no page of a replica of this model. Are its pods scraped, with the labels namespace and pod?"}},
	} {
		seen := 0
		for name, board := range boards(t) {
			sheet, err := board.Ask(t.Context(), c.prometheus, c.look)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range sheet.Answers {
				field := a.Panel.FieldConfig.Defaults
				if field.NoValue == "" || a.Panel.Description == "" {
					t.Errorf("%s, %q: has no words for no data, or no description", name, a.Panel.Title)
				}
				says := field.NoValue
				if len(a.Series) > 0 {
					says, _ = field.Mapped(a.Series[0].Last())
				}
				for _, s := range a.Series {
					if !slices.ContainsFunc(s.Points, func(p model.SamplePair) bool { return !math.IsNaN(float64(p.Value)) }) {
						t.Errorf("%s: %s, %q: all of %s is NaN", c.name, name, a.Panel.Title, s.Name)
					}
				}
				if want, ok := c.says[a.Panel.Title]; ok {
					seen++
					if says != want {
						t.Errorf("%s: %s, %q says %q, want %q", c.name, name, a.Panel.Title, says, want)
					}
				}
			}
		}
		if seen < len(c.says) {
			t.Errorf("%s: %d panels of %d were found", c.name, seen, len(c.says))
		}
	}
}

// TestTheUserGuideDescribesEveryPanel keeps docs/user-guide/monitoring.md with the
// dashboards.
func TestTheUserGuideDescribesEveryPanel(t *testing.T) {
	page, err := os.ReadFile("../../../docs/user-guide/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, board := range boards(t) {
		for _, p := range board.Pictures() {
			if row := "| " + p.Title + " | " + p.Description + " |"; !strings.Contains(string(page), row) {
				t.Errorf("%s: the page has no row %q", name, row)
			}
		}
	}
}

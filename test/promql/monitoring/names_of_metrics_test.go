package monitoring

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// storedUnder are the prefixes under which a fleet is stored in place of vLLM's own.
func storedUnder() map[string][]string {
	return map[string][]string{
		"KServe's names":    {"kserve_vllm:"},
		"Ray's names":       {"ray_vllm_"},
		"two names at once": {"vllm:", "kserve_vllm:"},
	}
}

func TestAlertsDoNotDependOnTheNamesOfTheMetrics(t *testing.T) {
	for name, prefixes := range storedUnder() {
		for _, fault := range []Fault{SlowTTFT, SlowerITL, MeanITL} {
			t.Run(name+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				r := hourOf(fault)
				r.Prefixes = prefixes
				if diff := cmp.Diff(fired(t, r), alertsOf(fault)); diff != "" {
					t.Errorf("fired (-got +want):\n%s", diff)
				}
			})
		}
	}
}

// TestPanelsDoNotDependOnTheNamesOfTheMetrics compares every number of every panel.
func TestPanelsDoNotDependOnTheNamesOfTheMetrics(t *testing.T) {
	shown := func(prefixes []string) map[string][]dashboard.Series {
		prometheus, look := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 30 * time.Minute, Prefixes: prefixes})
		panels := map[string][]dashboard.Series{}
		for name, board := range boards(t) {
			sheet, err := board.Ask(t.Context(), prometheus, look)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range sheet.Answers {
				if strings.Contains(strings.Join(a.Exprs, " "), "vllm") {
					panels[name+", "+a.Panel.Title] = a.Series
				}
			}
		}
		return panels
	}
	own := shown(nil)
	if len(own) < 5 {
		t.Fatalf("%d panels show metrics of vLLM", len(own))
	}
	for name, prefixes := range storedUnder() {
		// The labels of a series that is not added up name its metric.
		got := cmp.Diff(own, shown(prefixes), cmpopts.IgnoreFields(dashboard.Series{}, "Labels"), cmpopts.EquateNaNs(), cmp.Comparer(func(a, b model.SampleValue) bool { return a.Equal(b) }))
		if got != "" {
			t.Errorf("%s (-own +stored so):\n%s", name, got)
		}
	}
}

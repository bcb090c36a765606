package collector_test

import (
	"errors"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// goldenCase is one recorded case of the published version.
type goldenCase struct {
	ID, Area, Case string
	Inputs         struct {
		AgeSeconds float64   `json:"ageSeconds"`
		Ages       []float64 `json:"ages_s"`
		QueryError string    `json:"query_error"`
	}
	Expected struct {
		Status    string
		Available bool
		Reason    string
	}
}

// golden decodes the recorded cases of one area, or skips the test where they
// are not at hand.
func golden(t *testing.T, area string) []goldenCase {
	t.Helper()
	return goldentest.Read[goldenCase](t, goldentest.Files{Shared: []string{"contract.json"}}, area)
}

func TestGoldenFreshness(t *testing.T) {
	// The recordings call Aging "stale" and Stale "unavailable".
	names := map[scaling.Freshness]string{scaling.Fresh: "fresh", scaling.Aging: "stale", scaling.Stale: "unavailable"}
	for _, c := range golden(t, "freshness") {
		page := busy
		page.Age = time.Duration(c.Inputs.AgeSeconds * float64(time.Second))
		source, fleet := serving(1, 1, page)
		if got := names[only(t, source, fleet).Replicas[0].KVCacheUsage.State]; got != c.Expected.Status {
			t.Errorf("%s (%s): got %s, want %s", c.ID, c.Case, got, c.Expected.Status)
		}
	}
}

// deviations are the recorded cases that are decided otherwise by intent, with
// the reason that stands in their place.
var deviations = []struct {
	rule    string
	applies func(goldenCase) bool
	want    string // "" where the case cannot arise
}{
	{
		rule:    "metrics between the fresh and the stale limit are MetricsAging: they may not shrink anything (published: MetricsFound)",
		applies: func(c goldenCase) bool { return c.Expected.Available && c.Inputs.Ages[0] >= 60 },
		want:    "MetricsAging",
	},
	{
		rule:    "a Collector always has a source",
		applies: func(c goldenCase) bool { return c.Case == "prom api nil" },
	},
	{
		rule:    "an answer that is no vector is an error of the source, which never reaches a Collector as rows (published: MetricsMissing)",
		applies: func(c goldenCase) bool { return c.Case == "non vector" },
	},
}

func TestGoldenMetricsAvailability(t *testing.T) {
	used := map[string]bool{}
	for _, c := range golden(t, "metrics-availability") {
		want, arises := c.Expected.Reason, true
		for _, d := range deviations {
			if d.applies(c) {
				want, arises, used[d.rule] = d.want, d.want != "", true
			}
		}
		if !arises {
			continue
		}
		source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, max(len(c.Inputs.Ages), 1))
		if c.Inputs.QueryError != "" {
			source.FailAll(errors.New(c.Inputs.QueryError))
		}
		for i, age := range c.Inputs.Ages {
			pod, page := fleet, busy
			pod.Pods, page.Age = fleet.Pods[i:i+1], time.Duration(age)*time.Second
			source.Serve(pod, page)
		}
		if got := availability(only(t, source, fleet)); got != want {
			t.Errorf("%s (%s): got %s, want %s", c.ID, c.Case, got, want)
		}
	}
	for _, d := range deviations {
		if !used[d.rule] {
			t.Errorf("no case to which this applies: %s", d.rule)
		}
	}
}

// availability is what a status says of a Snapshot: the oldest pod decides.
func availability(s scaling.Snapshot) string {
	if s.Fault != "" {
		return "PrometheusError"
	}
	oldest := scaling.Fresh
	for _, r := range s.Replicas {
		oldest = min(oldest, r.KVCacheUsage.State)
	}
	switch oldest {
	case scaling.Fresh:
		return "MetricsFound"
	case scaling.Aging:
		return "MetricsAging"
	case scaling.Stale:
		return "MetricsStale"
	default:
		return "MetricsMissing"
	}
}

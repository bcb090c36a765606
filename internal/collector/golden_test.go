package collector_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestGoldenFreshness(t *testing.T) {
	// The recordings call Aging "stale" and Stale "unavailable".
	names := map[scaling.Freshness]string{scaling.Fresh: "fresh", scaling.Aging: "stale", scaling.Stale: "unavailable"}
	for _, c := range goldentest.Read[struct{ AgeSeconds float64 }, struct{ Status string }](t, "freshness") {
		page := busy
		page.Age = time.Duration(c.Inputs.AgeSeconds * float64(time.Second))
		source, fleet := serving(1, 1, page)
		if got := names[only(t, source, fleet).Replicas[0].KVCacheUsage.State]; got != c.Expected.Status {
			t.Errorf("%s: got %s, want %s", c, got, c.Expected.Status)
		}
	}
}

// availabilityInputs are pages and faults of Prometheus.
type availabilityInputs struct {
	Ages                 []float64       `json:"ages_s"`
	Namespaced, Fallback []float64       // ages too, of what the published versions asked for one after the other
	QueryError           string          `json:"query_error"`
	ResultType           string          `json:"result_type"` // where it is no vector
	PromAPI              json.RawMessage // null where there is no client
	Model, Namespace     string
}

func (in availabilityInputs) ages() []float64 {
	return slices.Concat(in.Ages, in.Namespaced, in.Fallback)
}

type availabilityOutcome struct {
	Available bool
	Reason    string
}

type availabilityCase = goldentest.Case[availabilityInputs, availabilityOutcome]

// deviations are the recorded cases that are decided otherwise by intent, with
// the reason that stands in their place.
var deviations = []struct {
	rule    string
	applies func(availabilityCase) bool
	want    string // "" where the case cannot arise
}{
	{
		rule: "metrics between the fresh and the stale limit are MetricsAging: they may not shrink anything (published: MetricsFound)",
		applies: func(c availabilityCase) bool {
			return c.Expected.Available && len(c.Inputs.ages()) > 0 && slices.Max(c.Inputs.ages()) >= 60
		},
		want: "MetricsAging",
	},
	{
		rule:    "a Collector always has a source",
		applies: func(c availabilityCase) bool { return c.Inputs.PromAPI != nil },
	},
	{
		rule:    "an answer that is no vector is an error of the source, which never reaches a Collector as rows (published: MetricsMissing)",
		applies: func(c availabilityCase) bool { return c.Inputs.ResultType != "" },
	},
}

func TestGoldenMetricsAvailability(t *testing.T) {
	used := map[string]bool{}
	for _, c := range goldentest.Read[availabilityInputs, availabilityOutcome](t, "metrics-availability") {
		want, arises := c.Expected.Reason, true
		for _, d := range deviations {
			if d.applies(c) {
				want, arises, used[d.rule] = d.want, d.want != "", true
			}
		}
		if !arises {
			continue
		}
		ages := c.Inputs.ages()
		source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, max(len(ages), 1))
		if c.Inputs.QueryError != "" {
			source.FailAll(errors.New(c.Inputs.QueryError))
		}
		for i, age := range ages {
			pod, page := fleet, busy
			pod.Pods, page.Age = fleet.Pods[i:i+1], time.Duration(age)*time.Second
			source.Serve(pod, page)
		}
		if got := availability(only(t, source, fleet)); got != want {
			t.Errorf("%s: got %s, want %s", c, got, want)
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

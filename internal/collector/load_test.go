package collector_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestArrivalsAreCompletionsPlusGrowth(t *testing.T) {
	aging := func(v float64) scaling.Reading { return scaling.Reading{Value: v, State: scaling.Aging} }
	for _, tc := range []struct {
		name                string
		completions, growth float64
		drop                []query.Quantity
		want                scaling.Reading
	}{
		{"a queue that grows", 3, 2, nil, fresh(5)},
		{"a queue that shrinks is not subtracted", 3, -2, nil, fresh(3)},
		{"nothing at all", 0, 0, nil, fresh(0)},
		{"a queue grows and nothing finishes", 0, 2, nil, fresh(2)},
		{"a counter that is missing has counted nothing", 3, 2, []query.Quantity{query.Completions}, fresh(2)},
		{"growth unknown: a lower bound", 3, 2, []query.Quantity{query.InFlightGrowth}, aging(3)},
		{"growth that is no number", 3, math.NaN(), nil, aging(3)},
		{"infinite growth", 3, math.Inf(1), nil, aging(3)},
		{"completions that are no number", math.NaN(), 2, nil, scaling.Reading{}},
		{"negative completions", -1, 2, nil, scaling.Reading{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet, page := collectortest.New(), collectortest.Fleet(t0, 1, 1), busy
			page.Completions, page.InFlightGrowth = tc.completions, tc.growth
			source.Serve(fleet, page)
			for _, q := range tc.drop {
				source.Replace(q, nil)
			}
			if got := only(t, source, fleet).Load.ArrivalRate; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestMissingReadingsOfAModel(t *testing.T) {
	absent, stale, none := scaling.Reading{}, scaling.Reading{State: scaling.Stale}, scaling.Reading{State: scaling.NotApplicable}
	every := func(r scaling.Reading) scaling.Load {
		return scaling.Load{ArrivalRate: r, InputTokens: r, OutputTokens: r, TTFT: r, ITL: r, GatewayQueue: none}
	}
	for _, tc := range []struct {
		name   string
		page   collectortest.Page
		pods   int
		remove []query.Quantity
		want   scaling.Load
	}{
		{
			"idle: no rate, no means",
			collectortest.Page{},
			1,
			[]query.Quantity{query.Completions, query.InFlightGrowth},
			scaling.Load{ArrivalRate: scaling.Reading{State: scaling.Aging}, InputTokens: none, OutputTokens: none, TTFT: none, ITL: none, GatewayQueue: none},
		},
		{
			"idle with a rate of 0",
			collectortest.Page{},
			1, nil,
			scaling.Load{ArrivalRate: fresh(0), InputTokens: none, OutputTokens: none, TTFT: none, ITL: none, GatewayQueue: none},
		},
		{
			"requests and no means",
			collectortest.Page{Completions: 2},
			1, nil,
			scaling.Load{ArrivalRate: fresh(2), GatewayQueue: none},
		},
		{"page aging and no rows", collectortest.Page{Age: 2 * time.Minute}, 1, []query.Quantity{query.Completions}, every(absent)},
		{"page stale and no rows", collectortest.Page{Age: 10 * time.Minute}, 1, []query.Quantity{query.Completions}, every(stale)},
		{"no pod at all", collectortest.Page{Completions: 2}, 0, nil, every(absent)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.page.WithoutRequests, tc.page.WithoutGateway, tc.page.Interval = true, true, 15*time.Second
			source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, tc.pods)
			source.Serve(fleet, tc.page)
			for _, q := range tc.remove {
				source.Replace(q, nil)
			}
			if diff := cmp.Diff(tc.want, only(t, source, fleet).Load); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersOfOneTokenHaveNoITL(t *testing.T) {
	source, fleet, page := collectortest.New(), collectortest.Fleet(t0, 1, 1), busy
	page.Output = 1
	source.Serve(fleet, page)
	source.Replace(query.ITL, nil)
	if got := only(t, source, fleet).Load; got.ITL.State != scaling.NotApplicable || got.TTFT != fresh(80) {
		t.Errorf("got ITL %v, TTFT %v", got.ITL, got.TTFT)
	}
}

func TestModelIsAsFreshAsItsFreshestPod(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 3)
	old, older, newest := fleet, fleet, fleet
	old.Pods, older.Pods, newest.Pods = fleet.Pods[0:1], fleet.Pods[1:2], fleet.Pods[2:3]
	page := busy
	page.Age = 20 * time.Minute
	source.Serve(older, page)
	want := []scaling.Freshness{scaling.Stale, scaling.Aging, scaling.Fresh}
	for i, step := range []struct {
		fleet scaling.Fleet
		age   time.Duration
	}{{}, {old, 2 * time.Minute}, {newest, time.Second}} {
		if step.age > 0 {
			page.Age = step.age
			source.Serve(step.fleet, page)
		}
		if got := only(t, source, fleet).Load.TTFT.State; got != want[i] {
			t.Errorf("step %d: got %v, want %v", i, got, want[i])
		}
	}
}

func TestGatewayQueue(t *testing.T) {
	at := func(age time.Duration) float64 { return float64(t0.Add(-age).Unix()) }
	named := func(v float64, model string) []any { return []any{v, "stat", "queue", "model", model} }
	seen := func(age time.Duration) []any { return []any{at(age), "stat", "at"} }
	for _, tc := range []struct {
		name   string
		models int
		rows   [][]any
		want   scaling.Reading // of m000
	}{
		{"never seen", 1, nil, scaling.Reading{State: scaling.NotApplicable}},
		{"held requests", 1, [][]any{seen(0), named(3, "m000")}, fresh(3)},
		{"no queue at a live picker", 1, [][]any{seen(0)}, fresh(0)},
		{"no queue at a live picker of other models", 2, [][]any{seen(0), named(3, "m001")}, fresh(0)},
		{"aging", 1, [][]any{seen(2 * time.Minute), named(3, "m000")}, scaling.Reading{Value: 3, State: scaling.Aging}},
		{"aging without a queue", 1, [][]any{seen(2 * time.Minute)}, scaling.Reading{}},
		{"stale without a queue", 1, [][]any{seen(10 * time.Minute)}, scaling.Reading{State: scaling.Stale}},
		{"the freshest picker counts", 1, [][]any{seen(10 * time.Minute), seen(0), named(3, "m000")}, fresh(3)},
		{"no model named and one there", 1, [][]any{seen(0), named(3, "")}, fresh(3)},
		{"no model named and two there", 2, [][]any{seen(0), named(3, "")}, scaling.Reading{}},
		{"no model named, two there and nothing held", 2, [][]any{seen(0), named(0, "")}, fresh(0)},
		{"no number", 1, [][]any{seen(0), named(math.NaN(), "m000")}, scaling.Reading{}},
		{"elsewhere", 1, [][]any{{at(0), "stat", "at", "namespace", "other"}}, scaling.Reading{State: scaling.NotApplicable}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet, page := collectortest.New(), collectortest.Fleet(t0, tc.models, 1), busy
			page.WithoutGateway = true
			source.Serve(fleet, page)
			for _, r := range tc.rows {
				labels := []string{"namespace", collectortest.Namespace}
				for _, text := range r[1:] {
					labels = append(labels, text.(string))
				}
				source.Answer(query.GatewayQueue, collectortest.Row(r[0].(float64), labels...))
			}
			if got := collect(t, source, fleet)[0].Load.GatewayQueue; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

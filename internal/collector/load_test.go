package collector_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var errBoom = errors.New("boom")

func TestArrivalsAreCompletionsPlusGrowth(t *testing.T) {
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
		{"a store too young for two scrapes says nothing", 3, 2, []query.Quantity{query.Completions, query.InFlightGrowth}, scaling.Reading{}},
		{"growth unknown: a lower bound", 3, 2, []query.Quantity{query.InFlightGrowth}, aging(3)},
		{"growth that is no number", 3, math.NaN(), nil, aging(3)},
		{"infinite growth", 3, math.Inf(1), nil, aging(3)},
		{"growth of minus infinity", 3, math.Inf(-1), nil, aging(3)},
		{"completions that are no number", math.NaN(), 2, nil, scaling.Reading{}},
		{"negative completions", -1, 2, nil, scaling.Reading{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := busy
			page.Completions, page.InFlightGrowth, page.WithoutGateway = tc.completions, tc.growth, true
			source, fleet := serving(1, 1, page)
			for _, q := range tc.drop {
				source.Drop(query.AskFlow, q)
			}
			if got := only(t, source, fleet).Load.ArrivalRate; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestGatewayRaisesArrivals(t *testing.T) {
	arrivals := func(model string, v float64) query.Row {
		return collectortest.ModelRow(query.GatewayArrivals, collectortest.Namespace, model, v)
	}
	held := func(model string, v float64) query.Row {
		return collectortest.ModelRow(query.GatewayQueue, collectortest.Namespace, model, v)
	}
	seen := func(age time.Duration) query.Row {
		return collectortest.ModelRow(query.GatewaySeen, collectortest.Namespace, "", scrapedAgo(age))
	}
	// The engines show 3 completions and a growth of 1.
	for _, tc := range []struct {
		name   string
		models int
		rows   []query.Row
		fail   query.Question // AskPages: none
		want   scaling.Reading
	}{
		{"no picker", 1, nil, query.AskPages, fresh(4)},
		{"it sees what the engines refuse", 1, []query.Row{seen(0), arrivals("m000", 9)}, query.AskPages, fresh(9)},
		{"it does not see what goes past it", 1, []query.Row{seen(0), arrivals("m000", 1)}, query.AskPages, fresh(4)},
		{"it has sent nothing of the model", 1, []query.Row{seen(0), arrivals("other", 9)}, query.AskPages, fresh(4)},
		{"its count is late", 1, []query.Row{seen(2 * time.Minute), arrivals("m000", 9)}, query.AskPages, aging(9)},
		{"its count is late and missing", 1, []query.Row{seen(2 * time.Minute)}, query.AskPages, aging(4)},
		{"its count is stale", 1, []query.Row{seen(10 * time.Minute), arrivals("m000", 9)}, query.AskPages, aging(4)},
		{"its count is no number", 1, []query.Row{seen(0), arrivals("m000", math.NaN())}, query.AskPages, aging(4)},
		{"it cannot be asked", 1, []query.Row{seen(0), arrivals("m000", 9)}, query.AskGateway, aging(4)},
		{"the engines cannot be asked", 1, []query.Row{seen(0), arrivals("m000", 9)}, query.AskFlow, aging(9)},
		{"it names no model and there is one", 1, []query.Row{seen(0), arrivals("", 9)}, query.AskPages, fresh(9)},
		{"it names no model and there are two", 2, []query.Row{seen(0), arrivals("", 9)}, query.AskPages, aging(4)},
		{"it names no model, there are two and nothing came", 2, []query.Row{seen(0), arrivals("", 0)}, query.AskPages, fresh(4)},
		{"it holds requests of some model", 2, []query.Row{seen(0), held("", 9)}, query.AskPages, aging(4)},
		{"it holds requests under an alias", 2, []query.Row{seen(0), held("alias", 9)}, query.AskPages, aging(4)},
		{"it holds requests under an alias and counts the model", 2, []query.Row{seen(0), held("m000", 0), held("alias", 9), arrivals("m000", 6)}, query.AskPages, fresh(6)},
		{"it holds requests that may be of the only model", 1, []query.Row{seen(0), held("alias", 9), arrivals("m000", 6)}, query.AskPages, aging(6)},
		{"the larger of duplicates", 1, []query.Row{seen(0), arrivals("m000", 9), arrivals("m000", 8), arrivals("m000", math.NaN())}, query.AskPages, fresh(9)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := busy
			page.WithoutGateway = true
			source, fleet := serving(tc.models, 1, page)
			source.Answer(query.AskGateway, tc.rows...)
			if tc.fail != query.AskPages {
				source.Fail(tc.fail, errBoom)
			}
			if got := collect(t, source, fleet)[0].Load.ArrivalRate; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestMissingReadingsOfAModel(t *testing.T) {
	absent, stale, none := scaling.Reading{}, scaling.Reading{State: scaling.Stale}, scaling.Reading{State: scaling.NotApplicable}
	unasked := scaling.Histogram{State: scaling.NotApplicable}
	every := func(r scaling.Reading) scaling.Load {
		return scaling.Load{
			ArrivalRate: r, InputTokens: r, OutputTokens: r, TTFT: r, ITL: r, PrefixHits: none, GatewayQueue: none,
			TTFTBuckets: unasked, ITLBuckets: unasked, RequestITLBuckets: unasked,
		}
	}
	idle := every(none)
	idle.ArrivalRate = fresh(0)
	working := every(absent)
	working.ArrivalRate = fresh(2)
	for _, tc := range []struct {
		name string
		page collectortest.Page
		pods int
		drop []query.Quantity
		want scaling.Load
	}{
		{"idle: no rate, no means", collectortest.Page{}, 1, []query.Quantity{query.Completions}, idle},
		{"idle with a rate of 0", collectortest.Page{}, 1, nil, idle},
		{"a store too young for rates", collectortest.Page{}, 1, []query.Quantity{query.Completions, query.InFlightGrowth}, every(absent)},
		{"requests and no means", collectortest.Page{Completions: 2}, 1, nil, working},
		{"page aging and no rows", collectortest.Page{Age: 2 * time.Minute}, 1, []query.Quantity{query.Completions}, every(absent)},
		{"page stale and no rows", collectortest.Page{Age: 10 * time.Minute}, 1, []query.Quantity{query.Completions}, every(stale)},
		{"no pod at all", collectortest.Page{Completions: 2}, 0, nil, every(absent)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.page.WithoutRequests, tc.page.WithoutGateway, tc.page.Interval = true, true, 15*time.Second
			source, fleet := serving(1, tc.pods, tc.page)
			for _, q := range tc.drop {
				source.Drop(query.AskFlow, q)
			}
			if diff := cmp.Diff(tc.want, only(t, source, fleet).Load); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersOfOneTokenHaveNoITL(t *testing.T) {
	page := busy
	page.Output = 1
	source, fleet := serving(1, 1, page)
	source.Drop(query.AskMeans, query.ITL)
	if got := only(t, source, fleet).Load; got.ITL.State != scaling.NotApplicable || got.TTFT != fresh(80) {
		t.Errorf("got ITL %v, TTFT %v", got.ITL, got.TTFT)
	}
}

func TestGatewayQueue(t *testing.T) {
	named := func(v float64, model string) query.Row {
		return collectortest.ModelRow(query.GatewayQueue, collectortest.Namespace, model, v)
	}
	seen := func(age time.Duration) query.Row {
		return collectortest.ModelRow(query.GatewaySeen, collectortest.Namespace, "", scrapedAgo(age))
	}
	for _, tc := range []struct {
		name   string
		models int
		rows   []query.Row
		want   scaling.Reading // of m000
	}{
		{"never seen", 1, nil, scaling.Reading{State: scaling.NotApplicable}},
		{"held requests", 1, []query.Row{seen(0), named(3, "m000")}, fresh(3)},
		{"no queue at a live picker", 1, []query.Row{seen(0)}, fresh(0)},
		{"no queue at a live picker of other models", 2, []query.Row{seen(0), named(3, "m001")}, fresh(0)},
		{"aging", 1, []query.Row{seen(2 * time.Minute), named(3, "m000")}, aging(3)},
		{"aging without a queue", 1, []query.Row{seen(2 * time.Minute)}, scaling.Reading{}},
		{"stale without a queue", 1, []query.Row{seen(10 * time.Minute)}, scaling.Reading{State: scaling.Stale}},
		{"the freshest picker counts", 1, []query.Row{seen(10 * time.Minute), seen(0), named(3, "m000")}, fresh(3)},
		{"no model named and one there", 1, []query.Row{seen(0), named(3, "")}, fresh(3)},
		{"no model named and two there", 2, []query.Row{seen(0), named(3, "")}, scaling.Reading{}},
		{"no model named, two there and nothing held", 2, []query.Row{seen(0), named(0, "")}, fresh(0)},
		{"no number", 1, []query.Row{seen(0), named(math.NaN(), "m000")}, scaling.Reading{}},
		{"adapters of the only model, as it seems", 1, []query.Row{seen(0), named(500, "adapter"), named(2, "alias")}, aging(502)},
		{"adapters beside the only model", 1, []query.Row{seen(0), named(0, "m000"), named(500, "adapter")}, aging(500)},
		{"adapters of a model whose picker is late", 1, []query.Row{seen(2 * time.Minute), named(500, "adapter")}, aging(500)},
		{"adapters of a model whose picker is gone", 1, []query.Row{seen(10 * time.Minute), named(500, "adapter")}, scaling.Reading{Value: 500, State: scaling.Stale}},
		{"an adapter without requests", 1, []query.Row{seen(0), named(0, "adapter")}, fresh(0)},
		{"an adapter whose number is none", 1, []query.Row{seen(0), named(math.NaN(), "adapter")}, scaling.Reading{}},
		{"adapters of one of two models", 2, []query.Row{seen(0), named(500, "adapter")}, scaling.Reading{}},
		{"adapters beside two models, this one with a queue", 2, []query.Row{seen(0), named(3, "m000"), named(500, "adapter")}, fresh(3)},
		{"an adapter of two models without requests", 2, []query.Row{seen(0), named(0, "adapter")}, fresh(0)},
		{"adapters elsewhere", 1, []query.Row{seen(0), collectortest.ModelRow(query.GatewayQueue, "other", "adapter", 500)}, fresh(0)},
		{"a time that is no number", 1, []query.Row{collectortest.ModelRow(query.GatewaySeen, collectortest.Namespace, "", math.NaN())}, scaling.Reading{State: scaling.NotApplicable}},
		{"elsewhere", 1, []query.Row{collectortest.ModelRow(query.GatewaySeen, "other", "", scrapedAgo(0))}, scaling.Reading{State: scaling.NotApplicable}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := busy
			page.WithoutGateway = true
			source, fleet := serving(tc.models, 1, page)
			source.Answer(query.AskGateway, tc.rows...)
			if got := collect(t, source, fleet)[0].Load.GatewayQueue; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// bucket is a row of a histogram of m000.
func bucket(q query.Quantity, bound, rate float64) query.Row {
	row := collectortest.ModelRow(q, collectortest.Namespace, "m000", rate)
	row.Bound = bound
	return row
}

func TestHistogramsOfModelsWithAnObjective(t *testing.T) {
	inf := math.Inf(1)
	ttft := func(bound, rate float64) query.Row { return bucket(query.TTFTBuckets, bound, rate) }
	known := scaling.Histogram{State: scaling.Fresh, Total: 4, Buckets: []scaling.Bucket{{Bound: 100, Rate: 1}, {Bound: 200, Rate: 3}}}
	late := known
	late.State = scaling.Aging
	for _, tc := range []struct {
		name  string
		age   time.Duration
		rows  []query.Row
		fails bool
		idle  bool
		want  scaling.Histogram
	}{
		{"in any order", 0, []query.Row{ttft(inf, 4), ttft(200, 3), ttft(100, 1)}, false, false, known},
		{"duplicates fold", 0, []query.Row{ttft(100, 1), ttft(100, 0.5), ttft(200, 3), ttft(inf, 4), ttft(inf, 2)}, false, false, known},
		{"a rate that is no number", 0, []query.Row{ttft(100, 1), ttft(150, math.NaN()), ttft(200, 3), ttft(inf, 4)}, false, false, known},
		{"late", 2 * time.Minute, []query.Row{ttft(100, 1), ttft(200, 3), ttft(inf, 4)}, false, false, late},
		{"stale", 10 * time.Minute, []query.Row{ttft(100, 1), ttft(200, 3), ttft(inf, 4)}, false, false, scaling.Histogram{State: scaling.Stale}},
		{"no bucket of everything", 0, []query.Row{ttft(100, 1), ttft(200, 3)}, false, false, scaling.Histogram{}},
		{"another model", 0, []query.Row{collectortest.ModelRow(query.TTFTBuckets, "other", "m000", 3)}, false, false, scaling.Histogram{}},
		{"no rows and no requests", 0, nil, false, true, scaling.Histogram{State: scaling.NotApplicable}},
		{"no rows and requests", 0, nil, false, false, scaling.Histogram{}},
		{"not answered", 0, []query.Row{ttft(100, 1), ttft(inf, 4)}, true, false, scaling.Histogram{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := busy
			page.Age = tc.age
			if tc.idle {
				page.Completions = 0
			}
			source, fleet := serving(1, 1, page)
			source.Answer(query.AskObjective, tc.rows...)
			if tc.fails {
				source.Fail(query.AskObjective, errBoom)
			}
			options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }}
			got := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0].Load
			if diff := cmp.Diff(tc.want, got.TTFTBuckets); diff != "" {
				t.Errorf("TTFT (-want +got):\n%s", diff)
			}
			if len(got.ITLBuckets.Buckets) > 0 {
				t.Errorf("got an ITL of %+v out of a TTFT", got.ITLBuckets)
			}
		})
	}
}

func TestITLHasItsOwnHistogram(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	source.Answer(query.AskObjective, bucket(query.ITLBuckets, 20, 1), bucket(query.ITLBuckets, math.Inf(1), 2), bucket(query.TTFTBuckets, math.Inf(1), 9))
	options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }}
	got := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0].Load
	want := scaling.Histogram{State: scaling.Fresh, Total: 2, Buckets: []scaling.Bucket{{Bound: 20, Rate: 1}}}
	if diff := cmp.Diff(want, got.ITLBuckets); diff != "" || got.TTFTBuckets.Total != 9 {
		t.Errorf("ITL (-want +got):\n%s", diff)
	}
}

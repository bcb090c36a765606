package collector_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// histogramRows are a histogram of four buckets and the one of everything.
func histogramRows(m scaling.ModelKey, q query.Quantity) []query.Row {
	var rows []query.Row
	for i, text := range []string{"0.05", "0.075", "1.0", "2.5", "+Inf"} {
		one, ok := query.RowOf(query.AskObjective, func(label string) string {
			return map[string]string{query.LabelNamespace: m.Namespace, query.LabelModel: m.ID, query.LabelBound: text, query.LabelStat: q.String()}[label]
		}, float64(i+1))
		if ok {
			rows = append(rows, one)
		}
	}
	return rows
}

// edgeTest is a collector of models with an objective, that keeps nothing.
type edgeTest struct {
	source    *collectortest.Source
	fleet     scaling.Fleet
	clock     *testingclock.FakeClock
	collector *collector.Collector
	all       []query.Row // with every bucket
}

func newEdgeTest(models int) *edgeTest {
	e := &edgeTest{clock: testingclock.NewFakeClock(t0)}
	e.source, e.fleet = serving(models, 1, busy)
	e.collector = collector.New(e.source, e.clock, collector.Options{
		Percentiles: func(scaling.ModelKey) bool { return true },
		Objective:   func(scaling.ModelKey) scaling.Objective { return scaling.Objective{TTFT: 2000, ITL: 60} },
	})
	for _, m := range e.fleet.Models() {
		e.all = append(e.all, histogramRows(m.Model, query.TTFTBuckets)...)
	}
	return e
}

// collect collects, and returns the bounds that were asked for, which is what the source
// answers.
func (e *edgeTest) collect(t *testing.T) ([]string, []scaling.Snapshot) {
	t.Helper()
	before := len(e.source.Calls())
	e.source.Replace(query.AskObjective, e.all...)
	snapshots := e.collector.Collect(t.Context(), e.fleet)
	for _, call := range e.source.Calls()[before:] {
		if call.Ask == query.AskObjective {
			return call.Bounds, snapshots
		}
	}
	t.Fatal("nothing was asked about objectives")
	return nil, nil
}

// only leaves the buckets with the given bounds, and that of everything.
func (e *edgeTest) only(edges ...string) {
	e.all = slices.DeleteFunc(slices.Clone(e.all), func(r query.Row) bool { return !slices.Contains(append(edges, "+Inf"), r.Edge) })
}

func TestOnceBucketsAreKnownThoseAroundObjectivesAreAskedFor(t *testing.T) {
	e := newEdgeTest(2)
	bounds, whole := e.collect(t)
	if bounds != nil {
		t.Errorf("first asked for %v, want all", bounds)
	}
	e.only("1.0", "2.5")
	bounds, part := e.collect(t)
	if diff := cmp.Diff([]string{"1.0", "2.5"}, bounds); diff != "" {
		t.Errorf("then asked for (-want +got):\n%s", diff)
	}
	for i := range whole {
		want, known := whole[i].Load.TTFTBuckets.Above(2000)
		got, ok := part[i].Load.TTFTBuckets.Above(2000)
		if got != want || !ok || !known || len(part[i].Load.TTFTBuckets.Buckets) != 2 {
			t.Errorf("%s: %g of %+v above the objective, want %g", part[i].Model, got, part[i].Load.TTFTBuckets, want)
		}
	}
}

func TestBucketsThatChangedAreLearnedAgain(t *testing.T) {
	e := newEdgeTest(2)
	e.collect(t)
	e.only("2.5") // of all models: the engines have no bucket of 1 s any more
	_, got := e.collect(t)
	for _, s := range got {
		if s.Load.TTFTBuckets.State >= scaling.Aging {
			t.Errorf("%s: %+v from a part of the buckets", s.Model, s.Load.TTFTBuckets)
		}
	}
	if bounds, _ := e.collect(t); bounds != nil {
		t.Errorf("asked for %v of which none is known to be there, want all", bounds)
	}
}

func TestAModelOfUnknownBucketsDoesNotMakeEveryQuestionDear(t *testing.T) {
	e := newEdgeTest(2)
	first := e.all[:5]
	e.all = first // the other has no pods yet
	e.collect(t)
	e.all = append(slices.Clone(first), histogramRows(e.fleet.Models()[1].Model, query.TTFTBuckets)...)
	for range 3 {
		bounds, got := e.collect(t)
		if diff := cmp.Diff([]string{"1.0", "2.5"}, bounds); diff != "" {
			t.Errorf("soon after, asked for (-want +got):\n%s", diff)
		}
		if h := got[1].Load.TTFTBuckets; h.State >= scaling.Aging {
			t.Errorf("%+v of a model whose buckets are not known", h)
		}
	}
	e.clock.Step(5 * time.Minute)
	bounds, got := e.collect(t)
	if h := got[1].Load.TTFTBuckets; bounds != nil || len(h.Buckets) != 4 {
		t.Errorf("after five minutes, asked for %v and got %+v, want all", bounds, h)
	}
}

// TestBoundsAreNumbersWhateverTheirText: pods of one model may write a bound as 1 and as 1.0, and
// a store adds up those that agree in the text.
func TestBoundsAreNumbersWhateverTheirText(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	for _, b := range []struct {
		edge         string
		bound, value float64
	}{
		{"0.5", 500, 1}, {"1", 1000, 2}, {"1.0", 1000, 3}, {"1.0", 1000, 2.5}, {"2.5", 2500, 6}, {"+Inf", math.Inf(1), 7}, {"+Inf", math.Inf(1), 6},
	} {
		row := collectortest.ModelRow(query.TTFTBuckets, collectortest.Namespace, "m000", b.value)
		row.Edge, row.Bound = b.edge, b.bound
		source.Answer(query.AskObjective, row)
	}
	c := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }})
	got := c.Collect(t.Context(), fleet)[0].Load.TTFTBuckets
	want := scaling.Histogram{State: scaling.Fresh, Total: 7, Buckets: []scaling.Bucket{{Bound: 500, Rate: 1}, {Bound: 1000, Rate: 5}, {Bound: 2500, Rate: 6}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

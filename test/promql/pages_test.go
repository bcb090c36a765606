package promql

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// steady is a pod in which every second the same happens, so that every rate is
// known: whatever the interval and the phase of its scrapes, a line through the
// samples of a window has the slope of what happened.
type steady struct {
	name    string // of the pod, and of the model
	engine  query.Engine
	version page.Version
	ranks   int
}

// What happens in each rank of a steady pod, each second.
const (
	steadyEnds  = 2.0  // requests that are streamed
	steadyLong  = 1.0  // requests that are not
	steadyGrows = 0.25 // requests more in the batch
)

var (
	steadyShort    = page.Request{Input: 300, Output: 50, Cached: 60, TTFT: 0.09, ITL: 0.02, Reason: "stop"}
	steadyUnstream = page.Request{Input: 600, Output: 101, TTFT: 3, ITL: 0.03, Reason: "length", Unstreamed: true}
)

func steadyPods() []steady {
	return []steady{
		{"vllm-newest", query.VLLM, page.Newest, 2},
		{"vllm-both", query.VLLM, page.Both, 2},
		{"vllm-oldest", query.VLLM, page.Oldest, 1},
		{"sglang-newest", query.SGLang, page.Newest, 2},
		{"sglang-oldest", query.SGLang, page.Oldest, 1},
	}
}

// TestAnswersDoNotDependOnHowOftenPagesAreScraped scrapes whole pages, with all
// their labels, types and neighbours, at intervals of 5s to a minute, and asks
// at an instant that lies on no scrape.
func TestAnswersDoNotDependOnHowOftenPagesAreScraped(t *testing.T) {
	s := newShared(t)
	for _, interval := range []time.Duration{5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute} {
		t.Run(interval.String(), func(t *testing.T) {
			begin := s.next()
			last := scrapeSteady(t, s.Store, begin, interval)
			at := last.Add(interval / 3)
			ask := func(q query.Question) []query.Row {
				return rows(t, s.Store, query.Request{Ask: q, At: at, Window: max(time.Minute, 4*interval)}, begin)
			}
			want := map[query.Question][]query.Row{
				query.AskScrapeIntervals: {{Quantity: query.ScrapeInterval, Namespace: "a", Job: "engines", Value: interval.Seconds()}},
			}
			for _, pod := range steadyPods() {
				pod.expect(want, last.Sub(begin).Seconds())
			}
			for q, rows := range want {
				if d := diff(rows, ask(q)); d != "" {
					t.Errorf("%s (-want +got):\n%s", q, d)
				}
			}
		})
	}
}

// scrapeSteady scrapes the steady pods for 12 minutes, each at its own phase
// within the first second, and returns when the last of them was scraped.
func scrapeSteady(t *testing.T, s *store.Store, begin time.Time, interval time.Duration) time.Time {
	t.Helper()
	var last time.Time
	for _, steady := range steadyPods() {
		pod := page.NewPod(steady.engine, steady.version, steady.name, steady.ranks)
		target := s.Target(labels.FromStrings("namespace", "a", "pod", steady.name, "job", "engines", "container", "main"))
		for last = begin.Add(437 * time.Millisecond); last.Before(begin.Add(12 * time.Minute)); last = last.Add(interval) {
			for _, r := range pod.Ranks {
				r.End(steadyShort, steadyEnds*interval.Seconds())
				r.End(steadyUnstream, steadyLong*interval.Seconds())
				r.Running += steadyGrows * interval.Seconds()
				r.Waiting, r.Usage = 3, 0.5
			}
			if err := target.Scrape(t.Context(), last, pod.Page()); err != nil {
				t.Fatal(err)
			}
		}
		last = last.Add(-interval)
	}
	return last
}

// expect adds the rows of a pod that has been scraped at seconds.
func (p steady) expect(want map[query.Question][]query.Row, seconds float64) {
	n := float64(p.ranks)
	pod := func(ask query.Question, q query.Quantity, v float64) {
		row := query.Row{Quantity: q, Namespace: "a", Pod: p.name, Model: p.name, Value: v}
		switch {
		case q == query.PageTime:
			row.Job, row.Witness = "engines", p.engine.Witness()
		case q == query.KVCapacity && p.engine == query.VLLM:
			row.Model = "" // cache_config_info has none
		}
		want[ask] = append(want[ask], row)
	}
	model := func(ask query.Question, q query.Quantity, bound, v float64) {
		want[ask] = append(want[ask], query.Row{Quantity: q, Namespace: "a", Model: p.name, Bound: bound, Value: v})
	}
	pod(query.AskPages, query.PageTime, seconds)
	pod(query.AskQueueLength, query.QueueLength, 3*n)
	pod(query.AskQueueLengthPeak, query.QueueLengthPeak, 3*n)
	pod(query.AskKVCacheUsage, query.KVCacheUsage, 0.5)
	pod(query.AskKVCacheUsagePeak, query.KVCacheUsagePeak, 0.5)
	capacity := 1000 * 16.0
	if p.engine == query.SGLang {
		capacity *= n // each rank has its own
	}
	pod(query.AskKVCapacity, query.KVCapacity, capacity)

	model(query.AskFlow, query.Completions, 0, (steadyEnds+steadyLong)*n)
	model(query.AskFlow, query.InFlightGrowth, 0, steadyGrows*n)
	mean := func(short, long float64) float64 {
		return (steadyEnds*short + steadyLong*long) / (steadyEnds + steadyLong)
	}
	model(query.AskMeans, query.InputTokens, 0, mean(300, 600))
	model(query.AskMeans, query.OutputTokens, 0, mean(50, 101))
	model(query.AskObjective, query.PrefixHits, 0, mean(60, 0)/mean(300, 600))
	// Between k tokens there are k-1 gaps.
	model(query.AskMeans, query.ITL, 0, 1000*mean(49*0.02, 100*0.03)/mean(49, 100))
	// Where streamed answers are told apart only they have a first token.
	first, all := steadyEnds, 1000*0.09
	if p.engine == query.VLLM || p.version == page.Oldest {
		first, all = steadyEnds+steadyLong, 1000*mean(0.09, 3)
	}
	model(query.AskMeans, query.TTFT, 0, all)
	for _, bound := range append(p.ttftBounds(), math.Inf(1)) {
		v := 0.0
		if bound >= 0.09 {
			v += steadyEnds
		}
		if bound >= 3 && first > steadyEnds {
			v += steadyLong
		}
		model(query.AskObjective, query.TTFTBuckets, bound*1000, v*n)
	}
	for _, bound := range append(p.itlBounds(), math.Inf(1)) {
		v := 0.0
		if bound >= 0.02 {
			v += steadyEnds * 49
		}
		if bound >= 0.03 {
			v += steadyLong * 100
		}
		model(query.AskObjective, query.ITLBuckets, bound*1000, v*n)
	}
}

func (p steady) ttftBounds() []float64 {
	if p.engine == query.SGLang {
		return page.SGLangTTFTBounds()
	}
	return page.TTFTBounds()
}

func (p steady) itlBounds() []float64 {
	if p.engine == query.SGLang {
		return page.SGLangITLBounds()
	}
	return page.ITLBounds()
}

// hostileModels are model names that would be syntax if they were pasted into an
// expression, or match more than themselves if they were taken for patterns.
func hostileModels() []string {
	return []string{
		`org/model`, `org.model`, `orgxmodel`, `a|b`, `a`, `b`, `.*`, `.+`, `(a)`, `a{2}`, `aa`, `[ab]`, `^a$`, `a?`,
		`"`, `\`, `\"`, `"} or vector(1) or {x="`, `m"}`, `{model_name="a"}`, "two\nlines", "tab\tand\rreturn", "`a`", `$1`, `%s`,
		`\d`, `\n`, `'a'`, `modèle`, `模型`, ` a`, `a `, `a,b`, `#a`,
	}
}

// TestBoundsLeaveOtherBucketsOut asks for some buckets by the bounds that an answer
// with all of them told.
func TestBoundsLeaveOtherBucketsOut(t *testing.T) {
	s := newShared(t)
	begin := s.next()
	var series []store.Series
	for i, le := range []string{"0.5", "1.0", "2.5", "10.0", "+Inf"} {
		one := store.Series{Labels: labels.FromStrings(
			"__name__", "vllm:time_to_first_token_seconds_bucket", "namespace", "a", "pod", "p", "model_name", "m", "le", le)}
		for n := range 10 {
			one.Samples = append(one.Samples, store.Sample{At: begin.Add(time.Duration(n) * 15 * time.Second), Value: 1000 + float64(n*15*(i+1))})
		}
		series = append(series, one)
	}
	if err := s.Write(t.Context(), series...); err != nil {
		t.Fatal(err)
	}
	ask := func(bounds ...string) []query.Row {
		return rows(t, s.Store, query.Request{Ask: query.AskObjective, At: begin.Add(135 * time.Second), Window: time.Minute, Bounds: bounds}, begin)
	}
	all := ask()
	if len(all) != len(series) {
		t.Fatalf("got %d rows of %d buckets", len(all), len(series))
	}
	around, want := []string{}, []query.Row{}
	for _, r := range all {
		if r.Bound == 1000 || r.Bound == 2500 {
			around = append(around, r.Edge)
		}
		if r.Bound == 1000 || r.Bound == 2500 || math.IsInf(r.Bound, 1) {
			want = append(want, r)
		}
	}
	if d := diff(want, ask(around...)); d != "" {
		t.Errorf("asked for %q (-want +got):\n%s", around, d)
	}
}

// TestAModelNameIsAValueAndNeverSyntax asks for each hostile name alone, for all
// of them, and for one that is not there.
func TestAModelNameIsAValueAndNeverSyntax(t *testing.T) {
	s := newShared(t)
	begin := s.next()
	var series []store.Series
	row := func(i int, model string) query.Row {
		return query.Row{Quantity: query.TTFTBuckets, Namespace: "a", Model: model, Bound: math.Inf(1), Value: float64(i + 1)}
	}
	var all []query.Row
	for i, model := range hostileModels() {
		one := store.Series{Labels: labels.FromStrings(
			"__name__", "vllm:time_to_first_token_seconds_bucket", "namespace", "a", "pod", fmt.Sprintf("p-%d", i), "model_name", model, "le", "+Inf")}
		for n := range 10 {
			one.Samples = append(one.Samples, store.Sample{At: begin.Add(time.Duration(n) * 15 * time.Second), Value: 1000 + float64(n*15*(i+1))})
		}
		series, all = append(series, one), append(all, row(i, model))
	}
	if err := s.Write(t.Context(), series...); err != nil {
		t.Fatal(err)
	}
	ask := func(models ...string) []query.Row {
		return rows(t, s.Store, query.Request{Ask: query.AskObjective, At: begin.Add(135 * time.Second), Window: time.Minute, Models: models}, begin)
	}
	for i, model := range hostileModels() {
		if d := diff([]query.Row{row(i, model)}, ask(model)); d != "" {
			t.Errorf("asked for %q (-want +got):\n%s", model, d)
		}
		if d := diff([]query.Row{row(i, model)}, ask(model, "not there")); d != "" {
			t.Errorf("asked for %q and another (-want +got):\n%s", model, d)
		}
	}
	if d := diff(all, ask(hostileModels()...)); d != "" {
		t.Errorf("asked for all (-want +got):\n%s", d)
	}
	if d := diff(nil, ask("not there")); d != "" {
		t.Errorf("asked for what is not there (-want +got):\n%s", d)
	}
}

package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// book writes pages of targets into a store.
type book struct {
	t     *testing.T
	store *store
}

func newBook(t *testing.T) *book {
	t.Helper()
	return &book{t, newStore(Options{Name: "pods", Interval: 15 * time.Second})}
}

// page records a page of a pod of namespace llm, scraped so many seconds before
// noon.
func (b *book) page(k kind, pod string, before float64, text string) {
	b.t.Helper()
	target := Target{Namespace: "llm", Pod: pod}
	wanted := wantedOfPods(nil)
	if k == endpointPicker {
		wanted = wantedOfPickers()
	}
	points, err := readPage(strings.ReplaceAll(text, "\t", ""), wanted, 1<<20)
	points = told(points, infos(nil))
	if err != nil {
		b.t.Fatal(err)
	}
	if _, ok := b.store.histories(k)[target]; !ok {
		b.store.histories(k)[target] = &history{}
		b.store.enter(target.Namespace)
	}
	b.store.add(task{k, target}, ago(before), points)
}

// ask answers a question as of noon over a window of a minute.
func (b *book) ask(q query.Question, models ...string) []query.Row {
	b.t.Helper()
	v, err := b.store.view()
	if err != nil {
		b.t.Fatal(err)
	}
	return v.answer(query.Request{Ask: q, Models: models}, moment{at: noon, window: time.Minute})
}

func ago(seconds float64) time.Time { return noon.Add(-time.Duration(seconds * float64(time.Second))) }

// same compares rows in any order.
func same(t *testing.T, got []query.Row, want ...query.Row) {
	t.Helper()
	order := func(rows []query.Row) []query.Row {
		return slices.SortedFunc(slices.Values(rows), func(a, b query.Row) int {
			return cmp.Or(cmp.Compare(a.Quantity, b.Quantity), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Model, b.Model),
				cmp.Compare(a.Bound, b.Bound))
		})
	}
	if diff := gocmp.Diff(order(want), order(got), cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// vllmPage is a page of one rank; the counters have counted n requests of 100
// input and 10 output tokens, TTFT 0.2s.
func vllmPage(running, waiting, usage, n float64) string {
	const l = `{model_name="m",engine="0"}`
	return fmt.Sprintf(`# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running%[1]s %[2]g
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting%[1]s %[3]g
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc%[1]s %[4]g
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total%[1]s %[6]g
# TYPE vllm:request_success_total counter
vllm:request_success_total{model_name="m",engine="0",finished_reason="stop"} %[5]g
vllm:request_success_total{model_name="m",engine="0",finished_reason="abort"} 0
# TYPE vllm:request_prompt_tokens histogram
vllm:request_prompt_tokens_bucket{model_name="m",engine="0",le="100"} %[5]g
vllm:request_prompt_tokens_bucket{model_name="m",engine="0",le="+Inf"} %[5]g
vllm:request_prompt_tokens_sum%[1]s %[7]g
vllm:request_prompt_tokens_count%[1]s %[5]g
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.1"} 0
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.5"} %[5]g
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="+Inf"} %[5]g
vllm:time_to_first_token_seconds_sum%[1]s %[8]g
vllm:time_to_first_token_seconds_count%[1]s %[5]g
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{engine="0",num_gpu_blocks="1000",block_size="16"} 1
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 5
`, l, running, waiting, usage, n, n*10, n*100, n*0.2)
}

// busy writes five pages of a pod that finishes a request each second.
func (b *book) busy(pod string) {
	for i, before := range []float64{60, 45, 30, 15, 0} {
		b.page(servingPod, pod, before, vllmPage(float64(i), float64(4-i), 0.1*float64(i), 100+15*float64(i)))
	}
}

func TestAPodTellsWhatTheCatalogueAsks(t *testing.T) {
	b := newBook(t)
	b.busy("a")
	pod := query.Row{Namespace: "llm", Pod: "a", Model: "m"}
	row := func(q query.Quantity, value float64) query.Row {
		r := pod
		r.Quantity, r.Value = q, value
		if q.Scope() == query.PerModel {
			r.Pod = ""
		}
		return r
	}
	page := row(query.PageTime, float64(noon.Unix()))
	page.Job, page.Witness = "pods", query.VLLM.Witness()
	capacity := row(query.KVCapacity, 16000)
	capacity.Model = "" // the cache names no model
	bucket := func(bound, value float64) query.Row {
		r := row(query.TTFTBuckets, value)
		r.Bound, r.Edge = bound, strconv.FormatFloat(bound/1000, 'g', -1, 64)
		return r
	}
	for name, c := range map[string]struct {
		got  []query.Row
		want []query.Row
	}{
		"pages":    {b.ask(query.AskPages), []query.Row{page}},
		"interval": {b.ask(query.AskScrapeIntervals), []query.Row{{Quantity: query.ScrapeInterval, Namespace: "llm", Job: "pods", Value: 15}}},
		"usage":    {b.ask(query.AskKVCacheUsage), []query.Row{row(query.KVCacheUsage, 0.4)}},
		// The window is open at its beginning: the page of a minute ago is out.
		"queue peak": {b.ask(query.AskQueueLengthPeak), []query.Row{row(query.QueueLengthPeak, 3)}},
		"queue":      {b.ask(query.AskQueueLength), []query.Row{row(query.QueueLength, 0)}},
		"running":    {b.ask(query.AskRunning), []query.Row{row(query.Running, 4)}},
		"capacity":   {b.ask(query.AskKVCapacity), []query.Row{capacity}},
		// One request a second; running and waiting together stay at four.
		"flow":                     {b.ask(query.AskFlow), []query.Row{row(query.Completions, 1), row(query.InFlightGrowth, 0)}},
		"means":                    {b.ask(query.AskMeans), []query.Row{row(query.InputTokens, 100), row(query.TTFT, 200)}},
		"buckets":                  {b.ask(query.AskObjective, "m"), []query.Row{bucket(100, 0), bucket(500, 1), bucket(math.Inf(1), 1)}},
		"buckets of another model": {b.ask(query.AskObjective, "other"), nil},
		"generating":               {b.ask(query.AskGenerating), []query.Row{row(query.Generating, 1)}},
		"gateway":                  {b.ask(query.AskGateway), nil},
	} {
		t.Run(name, func(t *testing.T) { same(t, c.got, c.want...) })
	}
}

func TestModelsAddUpTheirPods(t *testing.T) {
	b := newBook(t)
	b.busy("a")
	b.busy("b")
	same(t, b.ask(query.AskFlow),
		query.Row{Quantity: query.Completions, Namespace: "llm", Model: "m", Value: 2},
		query.Row{Quantity: query.InFlightGrowth, Namespace: "llm", Model: "m", Value: 0})
}

func TestRanksAddUpAndTheWorstCacheCounts(t *testing.T) {
	b := newBook(t)
	b.page(servingPod, "a", 0, `vllm:num_requests_running{model_name="m",engine="0"} 2
		vllm:num_requests_running{model_name="m",engine="1"} 3
		vllm:kv_cache_usage_perc{model_name="m",engine="0",pid="7"} 0
		vllm:kv_cache_usage_perc{model_name="m",engine="0",pid="8"} 0.5
		vllm:kv_cache_usage_perc{model_name="m",engine="1",pid="8"} 0.25
		`)
	same(t, b.ask(query.AskRunning), query.Row{Quantity: query.Running, Namespace: "llm", Pod: "a", Model: "m", Value: 5})
	same(t, b.ask(query.AskKVCacheUsage), query.Row{Quantity: query.KVCacheUsage, Namespace: "llm", Pod: "a", Model: "m", Value: 0.5})
}

func TestOfTwoNamesOneCounts(t *testing.T) {
	b := newBook(t)
	b.page(servingPod, "a", 0, `vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.2
		vllm:gpu_cache_usage_perc{model_name="m",engine="0"} 0.9
		`)
	same(t, b.ask(query.AskKVCacheUsage), query.Row{Quantity: query.KVCacheUsage, Namespace: "llm", Pod: "a", Model: "m", Value: 0.2})
}

func TestAFailedScrapeEndsInstantValuesAndLeavesTheRestToAge(t *testing.T) {
	b := newBook(t)
	b.busy("a")
	b.busy("b") // the source itself works
	b.store.fail(task{servingPod, Target{Namespace: "llm", Pod: "a"}}, noon, errors.New("refused"))
	ofA := func(rows []query.Row) []query.Row {
		return slices.DeleteFunc(rows, func(r query.Row) bool { return r.Pod != "a" })
	}
	same(t, ofA(b.ask(query.AskPages)))
	same(t, ofA(b.ask(query.AskRunning)))
	same(t, ofA(b.ask(query.AskEarlierPages)),
		query.Row{Quantity: query.PageTime, Namespace: "llm", Pod: "a", Witness: query.VLLM.Witness(), Model: "m", Job: "pods", Value: float64(noon.Unix())})
	same(t, ofA(b.ask(query.AskKVCacheUsagePeak)),
		query.Row{Quantity: query.KVCacheUsagePeak, Namespace: "llm", Pod: "a", Model: "m", Value: 0.4})
}

func TestPodsOfOneModelShareTheirLayout(t *testing.T) {
	b := newBook(t)
	for i, pod := range []string{"a", "b", "c"} {
		// Of the memory that is left each pod makes its own number of blocks.
		b.page(servingPod, pod, 0, strings.Replace(vllmPage(1, 0, 0.1, 5), `num_gpu_blocks="1000"`, fmt.Sprintf(`num_gpu_blocks="100%d"`, i), 1))
	}
	if n := len(b.store.layouts.known); n != 1 {
		t.Errorf("got %d layouts, want 1", n)
	}
	row := func(pod string, v float64) query.Row {
		return query.Row{Quantity: query.KVCapacity, Namespace: "llm", Pod: pod, Value: v}
	}
	same(t, b.ask(query.AskKVCapacity), row("a", 16000), row("b", 16016), row("c", 16032))
}

func TestAPodThatHoldsRequestsAndDoesNotMoveIsStuck(t *testing.T) {
	for name, c := range map[string]struct {
		waiting, generated float64 // waiting always, tokens per page
		stuck              bool
	}{
		"frozen gauges": {waiting: 0, stuck: true},
		"a sick engine": {waiting: 3, stuck: true},
		"a busy engine": {waiting: 3, generated: 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			for i, before := range []float64{150, 135, 120, 105, 90, 75, 60, 45, 30, 15, 0} {
				b.page(servingPod, "a", before, vllmPage(2, c.waiting, 0.5, 100+c.generated*float64(i)))
			}
			var generating, stuck []query.Row
			if c.generated > 0 {
				generating = []query.Row{{Quantity: query.Generating, Namespace: "llm", Pod: "a", Model: "m", Value: 1}}
			}
			if c.stuck {
				stuck = []query.Row{{Quantity: query.Stuck, Namespace: "llm", Pod: "a", Model: "m", Value: c.waiting}}
			}
			same(t, b.ask(query.AskGenerating), generating...)
			same(t, b.ask(query.AskStuck), stuck...)
		})
	}
}

func TestAYoungPodIsNotStuck(t *testing.T) {
	b := newBook(t)
	for _, before := range []float64{45, 30, 15, 0} {
		b.page(servingPod, "a", before, vllmPage(2, 0, 0.5, 0))
	}
	same(t, b.ask(query.AskStuck))
}

func TestAPodThatJustGotItsFirstRequestIsNotStuck(t *testing.T) {
	b := newBook(t)
	for _, before := range []float64{150, 135, 120, 105, 90, 75, 60, 45, 30, 15} {
		b.page(servingPod, "a", before, vllmPage(0, 0, 0, 100))
	}
	b.page(servingPod, "a", 0, vllmPage(1, 0, 0, 100))
	same(t, b.ask(query.AskStuck))
}

func TestPickersTellQueuesAndArrivals(t *testing.T) {
	b := newBook(t)
	for i, before := range []float64{60, 45, 30, 15, 0} {
		// Two requests a second sent on, one refused, and a queue that grows by
		// one every 15 s; the old twins say the same.
		n := 15 * float64(i)
		b.page(endpointPicker, "epp", before, fmt.Sprintf(`llm_d_epp_flow_control_queue_size{model_name="alias",target_model_name="m",priority="0"} %[1]g
			inference_extension_flow_control_queue_size{model_name="alias",target_model_name="m"} %[1]g
			# TYPE llm_d_epp_request_total counter
			llm_d_epp_request_total{model_name="alias",target_model_name="m",priority="0"} %[2]g
			llm_d_epp_request_total{model_name="m",target_model_name="",priority="0"} %[3]g
			inference_objective_request_total{model_name="alias",target_model_name="m"} %[2]g
			# TYPE llm_d_epp_request_error_total counter
			llm_d_epp_request_error_total{model_name="alias",target_model_name="m",error_code="ResourceExhausted"} %[3]g
			llm_d_epp_request_error_total{model_name="alias",target_model_name="m",error_code="BadRequest"} %[2]g
			`, float64(i), 1000+n, 2000+n))
	}
	same(t, b.ask(query.AskGateway),
		query.Row{Quantity: query.GatewaySeen, Namespace: "llm", Value: float64(noon.Unix())},
		query.Row{Quantity: query.GatewayQueue, Namespace: "llm", Model: "m", Value: 4},
		// Growth 3 within 45 s, stretched to the whole minute: 4 a minute.
		query.Row{Quantity: query.GatewayArrivals, Namespace: "llm", Model: "m", Value: 3 + 4.0/60})
}

func TestPickersSpeakForThePodsOfTheirPool(t *testing.T) {
	b := newBook(t)
	b.store.speakFor([]Target{{Namespace: "llm", Pod: "a", Model: "m"}, {Namespace: "llm", Pod: "b", Model: "m"}})
	const text = `llm_d_epp_per_endpoint_queue_size{name="pool",model_server_endpoint="a-rank-0"} 3
		llm_d_epp_per_endpoint_queue_size{name="pool",model_server_endpoint="b"} 0
		llm_d_epp_per_endpoint_queue_size{name="pool",model_server_endpoint="gone"} 9
		llm_d_epp_average_kv_cache_utilization{name="pool"} 0.6
		llm_d_epp_ready_endpoints{name="pool"} 2
		`
	b.page(endpointPicker, "epp", 15, text)
	b.page(endpointPicker, "epp", 0, text)
	row := func(q query.Quantity, pod string, v float64) query.Row {
		return query.Row{Quantity: q, Namespace: "llm", Pod: pod, Model: "m", Value: v}
	}
	same(t, b.ask(query.AskQueueLength), row(query.QueueLength, "a-rank-0", 3), row(query.QueueLength, "b", 0))
	same(t, b.ask(query.AskKVCacheUsagePeak), row(query.KVCacheUsagePeak, "a-rank-0", 0.6), row(query.KVCacheUsagePeak, "b", 0.6))

	// With no pod whose metrics it has, a picker leaves the mean as it was.
	b.page(endpointPicker, "epp", 0, strings.Replace(text, `ready_endpoints{name="pool"} 2`, `ready_endpoints{name="pool"} 0`, 1))
	same(t, b.ask(query.AskKVCacheUsage))
}

// readPage returns the points of the wanted families on a page.
func readPage(page string, wanted families, limit int64) ([]point, error) {
	lines, _, err := wantedLines(strings.NewReader(page), wanted, limit)
	if err != nil {
		return nil, err
	}
	return parsePage(lines)
}

// fullPages returns what a store knows of one pod whose pages hold so many models, four
// series each.
func fullPages(t *testing.T, models int) view {
	t.Helper()
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second, Limits: budget.Limits{Series: 2 * maxSeries}})
	target := Target{Namespace: "llm", Pod: "a"}
	s.retain(servingPod, []Target{target})
	for before := 4; before > 0; before-- {
		var points []point
		for i := range models {
			for _, name := range []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:generation_tokens_total"} {
				points = append(points, point{name, []label{{"model_name", fmt.Sprintf("m%d", i)}}, 1})
			}
		}
		s.add(task{servingPod, target}, ago(float64(before)*50), points)
	}
	v, err := s.view()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestQuestionsTakeTimeInProportionToTheSeries asks everything of a page with 8 times
// the series: a tenant may put 16,384 on each page of theirs. In proportion that is 8
// times as long; where each model looks at the series of all, 64 times.
func TestQuestionsTakeTimeInProportionToTheSeries(t *testing.T) {
	fastest := func(models int) time.Duration {
		v, least := fullPages(t, models), time.Hour
		for range 3 {
			begin := time.Now()
			for _, q := range query.Questions() {
				v.answer(query.Request{Ask: q, Span: time.Hour}, moment{at: noon, window: time.Minute})
			}
			least = min(least, time.Since(begin))
		}
		return least
	}
	const tries = 5 // on a busy machine
	least := math.Inf(1)
	for range tries {
		least = min(least, fastest(4000).Seconds()/fastest(500).Seconds())
	}
	if least > 32 {
		t.Errorf("16,000 series take %.0f times as long as 2,000, want 32 times at most", least)
	}
}

// TestPercentilesWithoutNamesAreOfAllModels: a collection names no models where their
// names are too long together, as one tenant's can be.
func TestPercentilesWithoutNamesAreOfAllModels(t *testing.T) {
	b := newBook(t)
	b.busy("a")
	if named, all := b.ask(query.AskObjective, "m"), b.ask(query.AskObjective); len(named) == 0 || len(all) != len(named) {
		t.Errorf("got %d rows without names, want the %d of the only model", len(all), len(named))
	}
}

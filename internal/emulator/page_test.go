package emulator

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

func parsePage(t testing.TB, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("parsing the page: %v\n%s", err, page)
	}
	return families
}

func renderPage(v Version, f *fleet) []byte {
	r := f.pods[podKey{testModel.Namespace, "a"}].replica
	var page exposition.Page
	writePage(&page, catalogue(), v, testModel.ID, &view{profile: r.machine.Profile(), stats: r.machine.Stats(), counters: r.counters})
	return page.Bytes()
}

func kindOf(kind string) dto.MetricType {
	return map[string]dto.MetricType{"gauge": dto.MetricType_GAUGE, "counter": dto.MetricType_COUNTER, "histogram": dto.MetricType_HISTOGRAM}[kind]
}

func TestPageHoldsTheCatalogueFromTheStart(t *testing.T) {
	for v := oldestVersion; v <= newestVersion; v++ {
		f := newFleet(testProfiles(slowProfile()), 0)
		set(t, f, 0, readyPod("a"))
		parsed := parsePage(t, renderPage(v, f))
		known := 1 // cache_config_info
		for _, family := range catalogue() {
			got := parsed[family.name]
			if !family.in(v) {
				if got != nil {
					t.Errorf("%v: %s is on the page", v, family.name)
				}
				continue
			}
			known++
			if got == nil || got.GetType() != kindOf(family.kind) {
				t.Errorf("%v: got %s %v, want a %s", v, family.name, got.GetType(), family.kind)
				continue
			}
			for _, m := range got.Metric {
				labels := labelsOf(m)
				if labels["model_name"] != testModel.ID || labels["engine"] != "0" {
					t.Errorf("%v: %s has labels %v", v, family.name, labels)
				}
				if h := m.Histogram; h != nil && (h.GetSampleCount() != 0 || !math.IsInf(h.Bucket[len(h.Bucket)-1].GetUpperBound(), 1)) {
					t.Errorf("%v: %s is not empty or has no +Inf", v, family.name)
				}
			}
		}
		if len(parsed) != known {
			t.Errorf("%v: got %d families, want %d", v, len(parsed), known)
		}
	}
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.Label {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func TestReleasesDifferAsVLLMDoes(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	for _, c := range []struct {
		family   string
		old, new bool // on the page of 0.10, of 0.20
	}{
		{"vllm:gpu_cache_usage_perc", true, false},
		{"vllm:kv_cache_usage_perc", true, true},
		{"vllm:time_per_output_token_seconds", true, false},
		{"vllm:inter_token_latency_seconds", false, true},
		{"vllm:request_time_per_output_token_seconds", false, true},
		{"vllm:num_requests_waiting_by_reason", false, true},
		{"vllm:gpu_prefix_cache_hits_total", true, false},
	} {
		_, old := parsePage(t, renderPage(10, f))[c.family]
		_, now := parsePage(t, renderPage(20, f))[c.family]
		if old != c.old || now != c.new {
			t.Errorf("%s: got %v in 0.10 and %v in 0.20, want %v and %v", c.family, old, now, c.old, c.new)
		}
	}
}

func TestPageWritesFloatsAsPythonDoes(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	page := string(renderPage(DefaultVersion, f))
	for _, want := range []string{
		`vllm:num_requests_running{engine="0",model_name="meta/llama-3.1-8b"} 0.0`,
		`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="meta/llama-3.1-8b",le="1.0"} 0.0`,
		`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="meta/llama-3.1-8b",le="2560.0"} 0.0`,
		`vllm:request_prompt_tokens_bucket{engine="0",model_name="meta/llama-3.1-8b",le="1000.0"} 0.0`,
		`vllm:request_success_total{engine="0",model_name="meta/llama-3.1-8b",finished_reason="abort"} 0.0`,
		`num_gpu_blocks="256"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, `le="2000.0"`) && strings.Contains(page, `request_prompt_tokens_bucket{engine="0",model_name="meta/llama-3.1-8b",le="2000.0"}`) {
		t.Error("token buckets go beyond the model's length of 1024")
	}
	for _, c := range []struct {
		value float64
		want  string
	}{{0, "0.0"}, {1, "1.0"}, {0.001, "0.001"}, {2560, "2560.0"}, {123456, "123456.0"}, {1e6, "1e+06"}, {1234567, "1.234567e+06"}, {0.00001, "1e-05"}, {math.Inf(1), "+Inf"}, {math.NaN(), "NaN"}} {
		if got := exposition.Float(c.value); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// One call of 10 tokens in and 5 out on an idle replica with steps of 100 ms.
func TestPageObservesWhereVLLMDoes(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	send(t, f, time.Second, 5, true)
	type sums map[string][2]float64 // count and sum
	read := func() sums {
		got := sums{}
		for name, family := range parsePage(t, renderPage(DefaultVersion, f)) {
			for _, m := range family.Metric {
				if h := m.Histogram; h != nil && h.GetSampleCount() > 0 {
					got[strings.TrimPrefix(name, "vllm:")] = [2]float64{float64(h.GetSampleCount()), math.Round(h.GetSampleSum()*1e6) / 1e6}
				}
				if c := m.Counter; c != nil && c.GetValue() > 0 {
					got[strings.TrimPrefix(name, "vllm:")] = [2]float64{c.GetValue(), c.GetValue()}
				}
			}
		}
		return got
	}
	settle(f, 1350*time.Millisecond) // the third token is out, the fourth is being computed
	want := sums{
		"time_to_first_token_seconds": {1, 0.1},
		"inter_token_latency_seconds": {2, 0.2},
		"iteration_tokens_total":      {3, 12},
		"prompt_tokens_total":         {10, 10}, "prompt_tokens_by_source_total": {10, 10},
		"generation_tokens_total": {3, 3}, "prefix_cache_queries_total": {10, 10},
	}
	if d := cmp.Diff(read(), want); d != "" {
		t.Errorf("before the end (-got +want):\n%s", d)
	}
	settle(f, 2*time.Second)
	want = sums{
		"time_to_first_token_seconds": {1, 0.1},
		"inter_token_latency_seconds": {4, 0.4},
		"iteration_tokens_total":      {5, 14},
		"prompt_tokens_total":         {10, 10}, "prompt_tokens_by_source_total": {10, 10},
		"generation_tokens_total": {5, 5}, "prefix_cache_queries_total": {10, 10},
		"request_success_total":                 {1, 1},
		"request_time_per_output_token_seconds": {1, 0.1},
		"e2e_request_latency_seconds":           {1, 0.5},
		"request_queue_time_seconds":            {1, 0},
		"request_prefill_time_seconds":          {1, 0.1},
		"request_decode_time_seconds":           {1, 0.4},
		"request_inference_time_seconds":        {1, 0.5},
		"request_prompt_tokens":                 {1, 10},
		"request_prefill_kv_computed_tokens":    {1, 10},
		"request_generation_tokens":             {1, 5},
		"request_max_num_generation_tokens":     {1, 5},
		"request_params_max_tokens":             {1, 5},
		"request_params_n":                      {1, 1},
	}
	if d := cmp.Diff(read(), want); d != "" {
		t.Errorf("after the end (-got +want):\n%s", d)
	}
}

func TestGatewayPage(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	p := f.declare(testModel)
	render := func() map[string]*dto.MetricFamily {
		var page exposition.Page
		writeGatewayPage(&page, []*pool{p})
		return parsePage(t, page.Bytes())
	}
	first := render()
	if first["inference_extension_flow_control_queue_size"] != nil && len(first["inference_extension_flow_control_queue_size"].Metric) > 0 {
		t.Error("the queue's series is there before the first request")
	}
	if got := first["inference_pool_ready_pods"].Metric[0].GetGauge().GetValue(); got != 0 {
		t.Errorf("ready pods: got %g, want 0", got)
	}
	send(t, f, 0, 5, true)
	send(t, f, 0, 5, true)
	queue := render()["inference_extension_flow_control_queue_size"].Metric[0]
	want := map[string]string{
		"fairness_id": "default-flow", "priority": "0", "inference_pool": "meta-llama-3-1-8b",
		"model_name": testModel.ID, "target_model_name": testModel.ID,
	}
	if d := cmp.Diff(labelsOf(queue), want); d != "" {
		t.Errorf("labels (-got +want):\n%s", d)
	}
	if got := queue.GetGauge().GetValue(); got != 2 {
		t.Errorf("queue size: got %g, want 2", got)
	}
	set(t, f, time.Second, readyPod("a"))
	after := render()
	for name, want := range map[string]float64{
		"inference_extension_flow_control_queue_size": 0,
		"inference_objective_request_total":           2,
		"inference_objective_running_requests":        2,
		"inference_pool_ready_pods":                   1,
	} {
		m := after[name].Metric[0]
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != want {
			t.Errorf("%s: got %g, want %g", name, got, want)
		}
	}
	h := after["inference_extension_flow_control_request_queue_duration_seconds"].Metric[0]
	if labelsOf(h)["outcome"] != "Dispatched" || h.Histogram.GetSampleCount() != 2 || h.Histogram.GetSampleSum() != 2 {
		t.Errorf("got %v, want 2 dispatched after 2 s", h)
	}
}

func TestFlowsAreBounded(t *testing.T) {
	p := newPool(testModel)
	for i := range 1000 {
		p.flowOf(strings.Repeat("x", i))
	}
	if got := len(p.flows); got != maxFlows+1 {
		t.Errorf("got %d flows, want %d", got, maxFlows+1)
	}
}

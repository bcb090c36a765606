package query_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

type labels map[string]string

func (l labels) get(name string) string { return l[name] }

func TestRowOf(t *testing.T) {
	for name, test := range map[string]struct {
		ask    query.Question
		labels labels
		value  float64
		want   query.Row
	}{
		"pod": {
			query.AskRunning,
			labels{"namespace": "a", "pod": "p", "pod_name": "other", "model_name": "m", "job": "j"},
			3,
			query.Row{Quantity: query.Running, Namespace: "a", Pod: "p", Model: "m", Value: 3},
		},
		"pod by its other name": {
			query.AskRunning,
			labels{"namespace": "a", "pod_name": "p"},
			3,
			query.Row{Quantity: query.Running, Namespace: "a", Pod: "p", Value: 3},
		},
		"labels missing": {
			query.AskGenerating,
			labels{},
			3,
			query.Row{Quantity: query.Generating, Value: 3},
		},
		"a counter that falls, of an address": {
			query.AskGenerating,
			labels{"namespace": "a", "pod": "p", "model_name": "m", "job": "j", "instance": "i:8000", "stat": "resets"},
			4,
			query.Row{Quantity: query.Resets, Namespace: "a", Pod: "p", Model: "m", Job: "j", Instance: "i:8000", Value: 4},
		},
		"page": {
			query.AskEarlierPages,
			labels{"namespace": "a", "pod": "p", "model_name": "m", "job": "j"},
			1.5e9,
			query.Row{Quantity: query.PageTime, Namespace: "a", Pod: "p", Witness: query.VLLM.Witness(), Model: "m", Job: "j", Value: 1.5e9},
		},
		"page of another engine, of a pod by its other name": {
			query.AskPages,
			labels{"namespace": "a", "pod_name": "p", "model_name": "m", "job": "j", "witness": "sglang:num_running_reqs"},
			1.5e9,
			query.Row{Quantity: query.PageTime, Namespace: "a", Pod: "p", ByPodName: true, Witness: query.SGLang.Witness(), Model: "m", Job: "j", Value: 1.5e9},
		},
		"job": {
			query.AskScrapeIntervals,
			labels{"namespace": "a", "job": "j"},
			15,
			query.Row{Quantity: query.ScrapeInterval, Namespace: "a", Job: "j", Value: 15},
		},
		"one of several": {
			query.AskMeans,
			labels{"namespace": "a", "model_name": "m", "stat": "itl"},
			20,
			query.Row{Quantity: query.ITL, Namespace: "a", Model: "m", Value: 20},
		},
		"the first of several": {
			query.AskFlow,
			labels{"namespace": "a", "model_name": "m", "stat": "completions"},
			2,
			query.Row{Quantity: query.Completions, Namespace: "a", Model: "m", Value: 2},
		},
		"picker": {
			query.AskGateway,
			labels{"namespace": "a", "stat": "gateway_seen"},
			1.5e9,
			query.Row{Quantity: query.GatewaySeen, Namespace: "a", Value: 1.5e9},
		},
		"gateway": {
			query.AskGateway,
			labels{"namespace": "a", "model": "m", "model_name": "other", "stat": "gateway_queue"},
			4,
			query.Row{Quantity: query.GatewayQueue, Namespace: "a", Model: "m", Value: 4},
		},
		"bucket": {
			query.AskObjective,
			labels{"namespace": "a", "model_name": "m", "le": "0.25", "stat": "ttft_buckets"},
			2,
			query.Row{Quantity: query.TTFTBuckets, Namespace: "a", Model: "m", Bound: 250, Edge: "0.25", Value: 2},
		},
		"bucket of everything": {
			query.AskObjective,
			labels{"namespace": "a", "model_name": "m", "le": "+Inf", "stat": "itl_buckets"},
			2,
			query.Row{Quantity: query.ITLBuckets, Namespace: "a", Model: "m", Bound: math.Inf(1), Edge: "+Inf", Value: 2},
		},
		"an infinite value": {
			query.AskKVCacheUsage,
			labels{"namespace": "a", "pod": "p"},
			math.Inf(1),
			query.Row{Quantity: query.KVCacheUsage, Namespace: "a", Pod: "p", Value: math.Inf(1)},
		},
		"cache in tokens": {
			query.AskKVCapacity,
			labels{"namespace": "a", "pod": "p", "kv_cache_size_tokens": "40000", "num_gpu_blocks": "1000", "block_size": "16"},
			1,
			query.Row{Quantity: query.KVCapacity, Namespace: "a", Pod: "p", Value: 40000},
		},
		"cache in blocks": {
			query.AskKVCapacity,
			labels{"namespace": "a", "pod": "p", "kv_cache_size_tokens": "None", "num_gpu_blocks": "1000", "block_size": "16"},
			1,
			query.Row{Quantity: query.KVCapacity, Namespace: "a", Pod: "p", Value: 16000},
		},
		"cache as a value": {
			query.AskKVCapacity,
			labels{"namespace": "a", "pod": "p", "model_name": "m"},
			50000,
			query.Row{Quantity: query.KVCapacity, Namespace: "a", Pod: "p", Model: "m", Value: 50000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := query.RowOf(test.ask, test.labels.get, test.value)
			if diff := cmp.Diff(test.want, got); diff != "" || !ok {
				t.Errorf("understood %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestRowOfRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for name, test := range map[string]struct {
		ask    query.Question
		labels labels
	}{
		"no quantity":                        {query.AskMeans, labels{"namespace": "a"}},
		"quantity of another":                {query.AskMeans, labels{"namespace": "a", "stat": "running"}},
		"no bound":                           {query.AskObjective, labels{"stat": "itl_buckets"}},
		"bound that is no number":            {query.AskObjective, labels{"stat": "itl_buckets", "le": "NaN"}},
		"blocks None":                        {query.AskKVCapacity, labels{"num_gpu_blocks": "None", "block_size": "16"}},
		"blocks without their size":          {query.AskKVCapacity, labels{"num_gpu_blocks": "1000"}},
		"no blocks":                          {query.AskKVCapacity, labels{"block_size": "16"}},
		"0 blocks":                           {query.AskKVCapacity, labels{"num_gpu_blocks": "0", "block_size": "16"}},
		"more blocks than a number can hold": {query.AskKVCapacity, labels{"num_gpu_blocks": "1e300", "block_size": "1e300"}},
		"infinite cache":                     {query.AskKVCapacity, labels{"kv_cache_size_tokens": "Inf"}},
	} {
		if row, ok := query.RowOf(test.ask, test.labels.get, 1); ok {
			t.Errorf("%s: understood as %+v", name, row)
		}
	}
}

// TestRowOfAllocatesNothing holds because it runs for each of the 10,000 pods of
// each question.
func TestRowOfAllocatesNothing(t *testing.T) {
	for _, ask := range []query.Question{query.AskRunning, query.AskMeans, query.AskKVCapacity} {
		label := labels{"namespace": "a", "pod": "p", "stat": "prefix_hits", "num_gpu_blocks": "1000", "block_size": "16"}.get
		if got := testing.AllocsPerRun(100, func() { query.RowOf(ask, label, 1) }); got != 0 {
			t.Errorf("%s: got %v allocations a row", ask, got)
		}
	}
}

func FuzzRowOf(f *testing.F) {
	f.Add(uint8(query.AskKVCapacity), "ns", "pod", "", "None", "16", "0.1", 1.0)
	f.Add(uint8(query.AskObjective), "", "", "itl_buckets", "", "", "+Inf", math.NaN())
	f.Fuzz(func(t *testing.T, ask uint8, namespace, pod, stat, blocks, size, bound string, value float64) {
		question := query.Question(ask % query.QuestionCount)
		row, ok := query.RowOf(question, labels{
			"namespace": namespace, "pod": pod, "stat": stat, "num_gpu_blocks": blocks, "block_size": size, "le": bound,
		}.get, value)
		if !ok {
			if row != (query.Row{}) {
				t.Errorf("not understood, and yet %+v", row)
			}
			return
		}
		if row.Namespace != namespace || math.IsNaN(row.Bound) {
			t.Errorf("got %+v of namespace %q", row, namespace)
		}
		if row.Quantity == query.KVCapacity && blocks+size != "" && (math.IsNaN(row.Value) || row.Value <= 0 || math.IsInf(row.Value, 1)) {
			t.Errorf("a cache of %v tokens from %q x %q", row.Value, blocks, size)
		}
	})
}

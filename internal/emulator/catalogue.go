package emulator

import (
	"math"
	"slices"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// bucketLayouts returns the upper bounds of every histogram in vLLM 0.8 to 0.32, without +Inf.
func bucketLayouts(maxModelLen int) [histogramCount][]float64 {
	tokens := tokenBuckets(maxModelLen)
	perToken := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	request := []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	return [histogramCount][]float64{
		timeToFirstToken: {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560},
		interToken:       perToken, requestTimePerToken: perToken,
		endToEnd: request, queueTime: request, prefillTime: request, decodeTime: request, inferenceTime: request,
		promptTokens: tokens, generationTokens: tokens, computedTokens: tokens, maxTokens: tokens, maxGenerationTokens: tokens,
		choices:            {1, 2, 5, 10, 20},
		stepTokens:         {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
		requestPreemptions: {1, 2, 3, 4, 5, 10, 20},
	}
}

// tokenBuckets returns 1, 2, 5 times powers of ten up to maxModelLen.
func tokenBuckets(maxModelLen int) []float64 {
	var bounds []float64
	for decade := 1; ; decade *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*decade > maxModelLen {
				return bounds
			}
			bounds = append(bounds, float64(m*decade))
		}
	}
}

// The histograms of a page.
type histogramID int

const (
	noHistogram histogramID = iota
	timeToFirstToken
	interToken
	requestTimePerToken
	endToEnd
	queueTime
	prefillTime
	decodeTime
	inferenceTime
	promptTokens
	generationTokens
	maxTokens
	maxGenerationTokens
	choices
	computedTokens
	stepTokens
	requestPreemptions
	histogramCount
)

// view holds the values from which the families of one metrics page are written.
type view struct {
	profile  serving.Profile
	stats    serving.Stats
	counters *engineCounters
}

// family is one metric family of a vLLM page. Exactly one of value and
// histogram is set. Its labels are model_name, engine and, where label is set,
// one child per entry of children.
type family struct {
	name, kind, help string
	since, until     Version // releases that have it; 0 = no bound
	label            string
	children         []child
	value            func(v *view) float64
	histogram        histogramID
}

// child is one value of a family's extra label.
type child struct {
	value string
	since Version
	read  func(v *view) float64
}

func (f *family) in(v Version) bool {
	return f.since <= v && (f.until == 0 || v <= f.until)
}

func zero(*view) float64                { return 0 }
func one(*view) float64                 { return 1 }
func running(v *view) float64           { return float64(v.stats.Running) }
func waiting(v *view) float64           { return float64(v.stats.Waiting) }
func kvUsage(v *view) float64           { return v.stats.KVUsage() }
func prompts(v *view) float64           { return float64(v.stats.PromptTokens) }
func cachedPrompts(v *view) float64     { return float64(v.stats.CachedTokens) }
func computedPrompts(v *view) float64   { return prompts(v) - cachedPrompts(v) }
func generated(v *view) float64         { return float64(v.stats.GenerationTokens) }
func prefixQueries(v *view) float64     { return float64(v.stats.PrefixQueries) }
func prefixHits(v *view) float64        { return float64(v.stats.PrefixHits) }
func preemptions(v *view) float64       { return float64(v.stats.Preemptions) }
func finishedByLength(v *view) float64  { return float64(v.stats.Finished) }
func admissionRefusals(v *view) float64 { return float64(v.counters.refused) }

// catalogue returns every family of a vLLM page in the order of the page, for all releases.
// Where the release that added or removed a family is known only roughly, it is the next
// release that is known to have it, or not to have it.
func catalogue() []family {
	return slices.Concat(engineFamilies(), counterFamilies(), histogramFamilies())
}

func engineFamilies() []family {
	return []family{
		{name: "vllm:num_requests_running", kind: "gauge", help: "Number of requests in model execution batches.", value: running},
		{name: "vllm:num_requests_waiting", kind: "gauge", help: "Number of requests waiting to be processed.", value: waiting},
		{
			name: "vllm:num_requests_waiting_by_reason", kind: "gauge", help: "Number of waiting requests by reason.", since: 20,
			label: "reason", children: []child{{value: "capacity", read: waiting}, {value: "deferred", read: zero}},
		},
		{
			name: "vllm:engine_sleep_state", kind: "gauge", help: "Engine sleep state; awake = 0 means engine is sleeping.", since: 12,
			label: "sleep_state", children: []child{{value: "awake", read: one}, {value: "weights_offloaded", read: zero}, {value: "discard_all", read: zero}},
		},
		{name: "vllm:gpu_cache_usage_perc", kind: "gauge", help: "GPU KV-cache usage. 1 means 100 percent usage.", until: 10, value: kvUsage},
		{name: "vllm:kv_cache_usage_perc", kind: "gauge", help: "KV-cache usage. 1 means 100 percent usage.", value: kvUsage},
	}
}

func counterFamilies() []family {
	return []family{
		{name: "vllm:gpu_prefix_cache_queries_total", kind: "counter", help: "GPU prefix cache queries, in terms of number of queried tokens.", until: 10, value: prefixQueries},
		{name: "vllm:gpu_prefix_cache_hits_total", kind: "counter", help: "GPU prefix cache hits, in terms of number of cached tokens.", until: 10, value: prefixHits},
		{name: "vllm:prefix_cache_queries_total", kind: "counter", help: "Prefix cache queries, in terms of number of queried tokens.", value: prefixQueries},
		{name: "vllm:prefix_cache_hits_total", kind: "counter", help: "Prefix cache hits, in terms of number of cached tokens.", value: prefixHits},
		{name: "vllm:external_prefix_cache_queries_total", kind: "counter", help: "External prefix cache queries from KV connectors.", since: 12, value: zero},
		{name: "vllm:external_prefix_cache_hits_total", kind: "counter", help: "External prefix cache hits from KV connectors.", since: 12, value: zero},
		{name: "vllm:mm_cache_queries_total", kind: "counter", help: "Multi-modal cache queries, in terms of number of queried items.", since: 12, value: zero},
		{name: "vllm:mm_cache_hits_total", kind: "counter", help: "Multi-modal cache hits, in terms of number of cached items.", since: 12, value: zero},
		{name: "vllm:num_preemptions_total", kind: "counter", help: "Cumulative number of preemption from the engine.", value: preemptions},
		{name: "vllm:prompt_tokens_total", kind: "counter", help: "Number of prefill tokens processed.", value: prompts},
		{
			name: "vllm:prompt_tokens_by_source_total", kind: "counter", help: "Number of prompt tokens by source.", since: 20,
			label: "source", children: []child{{value: "local_compute", read: computedPrompts}, {value: "local_cache_hit", read: cachedPrompts}, {value: "external_kv_transfer", read: zero}},
		},
		{name: "vllm:prompt_tokens_cached_total", kind: "counter", help: "Number of cached prompt tokens.", since: 16, value: cachedPrompts},
		{name: "vllm:generation_tokens_total", kind: "counter", help: "Number of generation tokens processed.", value: generated},
		// A client that disconnects changes none of these, as in vLLM.
		{name: "vllm:request_success_total", kind: "counter", help: "Count of successfully processed requests.", label: "finished_reason", children: []child{
			{value: "stop", read: zero},
			{value: "length", read: finishedByLength},
			{value: "abort", read: zero},
			{value: "error", since: 20, read: zero},
			{value: "repetition", since: 32, read: zero},
		}},
		{
			name: "vllm:admission_rejections_total", kind: "counter", help: "Requests refused by the limits of the queue.", since: 32,
			label: "reason", children: []child{{value: "max_waiting_requests", read: admissionRefusals}, {value: "max_waiting_tokens", read: zero}},
		},
	}
}

func histogramFamilies() []family {
	h := func(name string, id histogramID, help string) family {
		return family{name: "vllm:" + name, kind: "histogram", help: help, histogram: id}
	}
	between := func(f family, since, until Version) family {
		f.since, f.until = since, until
		return f
	}
	return []family{
		h("request_prompt_tokens", promptTokens, "Number of prefill tokens processed."),
		h("request_generation_tokens", generationTokens, "Number of generation tokens processed."),
		h("iteration_tokens_total", stepTokens, "Histogram of number of tokens per engine_step."),
		h("request_max_num_generation_tokens", maxGenerationTokens, "Histogram of maximum number of requested generation tokens."),
		h("request_params_n", choices, "Histogram of the n request parameter."),
		h("request_params_max_tokens", maxTokens, "Histogram of the max_tokens request parameter."),
		h("time_to_first_token_seconds", timeToFirstToken, "Histogram of time to first token in seconds."),
		between(h("time_per_output_token_seconds", interToken, "Histogram of time per output token in seconds."), 0, 11),
		between(h("inter_token_latency_seconds", interToken, "Histogram of inter-token latency in seconds."), 11, 0),
		between(h("request_time_per_output_token_seconds", requestTimePerToken, "Histogram of time_per_output_token_seconds per request."), 12, 0),
		h("e2e_request_latency_seconds", endToEnd, "Histogram of e2e request latency in seconds."),
		h("request_queue_time_seconds", queueTime, "Histogram of time spent in WAITING phase for request."),
		h("request_inference_time_seconds", inferenceTime, "Histogram of time spent in RUNNING phase for request."),
		h("request_prefill_time_seconds", prefillTime, "Histogram of time spent in PREFILL phase for request."),
		h("request_decode_time_seconds", decodeTime, "Histogram of time spent in DECODE phase for request."),
		between(h("request_prefill_kv_computed_tokens", computedTokens, "Histogram of new KV tokens computed during prefill."), 16, 0),
		between(h("request_num_preemptions", requestPreemptions, "Histogram of preemptions per request."), 30, 0),
	}
}

// cacheConfig returns the labels of vllm:cache_config_info: the engine's cache
// settings as text, and never model_name.
func cacheConfig(p serving.Profile, v Version) []string {
	labels := []string{
		"block_size", strconv.Itoa(p.BlockSize), "cache_dtype", "auto", "calculate_kv_scales", "False",
		"enable_prefix_caching", "True", "engine", "0", "gpu_memory_utilization", "0.9", "is_attention_free", "False",
		"num_cpu_blocks", "None", "num_gpu_blocks", strconv.Itoa(p.Blocks()), "num_gpu_blocks_override", "None",
		"sliding_window", "None", "swap_space", "4",
	}
	if v >= 22 {
		tokens := p.Blocks() * p.BlockSize
		concurrency := math.Round(100*float64(tokens)/float64(p.MaxModelLen)) / 100
		labels = append(labels, "kv_cache_size_tokens", strconv.Itoa(tokens), "kv_cache_max_concurrency", exposition.Float(concurrency))
	}
	return labels
}

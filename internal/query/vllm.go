package query

import "slices"

// The metric names of vLLM that occur in several recipes.
const (
	vllmRunning = "vllm:num_requests_running"
	vllmWaiting = "vllm:num_requests_waiting"
)

// vllm returns the recipes for vLLM 0.5 to 0.32. Its pages carry model_name and,
// from about 0.8.3 on, engine: the data-parallel rank. Some versions add pid, a
// label of the process that wrote the series, and repeat themselves.
func vllm() map[Quantity]Recipe {
	running, waiting := named(vllmRunning), named(vllmWaiting)
	// 0.9.2 on; to 0.11.
	usage := named("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
	// Every reason for an end counts, abortion included. The label is
	// finished_reason in vLLM and finish_reason in llm-d-inference-sim.
	success := Series{Names: counted("vllm:request_success"), By: []string{"finished_reason", "finish_reason"}}
	// The token counters move with every step of the engine, those of
	// request_* only when a request ends.
	generation, prompt := named(counted("vllm:generation_tokens")...), named(counted("vllm:prompt_tokens")...)
	// 0.10.2 on; to 0.12. Between outputs, so that long answers weigh more.
	itl := []string{"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"}
	decoding, generated := histogramRates(named, itl...)
	starting, started := histogramRates(named, "vllm:time_to_first_token_seconds")

	return map[Quantity]Recipe{
		// The worst rank counts, because it is the one that preempts. To 0.11 several API servers
		// give a series per process, most of them 0, which the largest removes as well.
		KVCacheUsagePeak: {Over: Peak, Of: []Series{usage}, Worst: true},
		KVCacheUsage:     {Over: Last, Of: []Series{usage}, Worst: true},
		// The sum of the ranks' peaks is an upper bound of the peak of their
		// sum, which would take a subquery; the bound errs towards growth.
		QueueLengthPeak: {Over: Peak, Of: []Series{waiting}},
		QueueLength:     {Over: Last, Of: []Series{waiting}},
		Running:         {Over: Last, Of: []Series{running}},
		// Every field of the cache configuration is a label, and the set changes with every
		// release: three of them count. The metric has no model_name; every rank repeats the blocks
		// of all. Pages that lack the number of blocks tell no size.
		KVCapacity: {Over: Info, Of: []Series{{
			Names:   []string{"vllm:cache_config_info"},
			Without: []string{LabelBlocks + "="},
			By:      []string{LabelBlocks, LabelBlockSize, LabelCacheTokens},
		}}},
		Decoding: decoding, Generated: generated, Starting: starting, Started: started,
		// An engine that works on requests generates tokens: it never pauses for minutes.
		Generating: {Over: Moving, Of: []Series{generation}},
		// The Python client writes when it made each counter, except where several API servers
		// share one page.
		Resets: {Over: Fallen, Of: []Series{generation}, Began: []Series{named("vllm:generation_tokens_created")}},
		Stuck: {
			Over: Idle, Of: []Series{waiting},
			Holds: []Series{running, waiting}, Still: []Series{generation, running, waiting, usage, prompt, success},
			Scrapes: stuckScrapes,
		},
		Completions: {Over: Rate, Of: []Series{success}},
		// A series that ends (of a drained pod) contributes its fall, a new one its rise.
		InFlightGrowth: {Over: Growth, Of: []Series{running, waiting}},
		InputTokens:    histogramMean(1, named, "vllm:request_prompt_tokens"),
		OutputTokens:   histogramMean(1, named, "vllm:request_generation_tokens"),
		// From the arrival at the frontend, so it includes the engine's queue.
		TTFT: histogramMean(1000, named, "vllm:time_to_first_token_seconds"),
		// The mean per request comes last: it counts a request of one token as 0.
		ITL: histogramMean(1000, named, append(slices.Clone(itl), "vllm:request_time_per_output_token_seconds")...),
		// The older twin counted blocks to about 0.8 and tokens later: the ratio is the same.
		PrefixHits: {
			Over: Mean,
			Of:   []Series{named(counted("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")...)},
			Per:  named(counted("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")...),
		},
		TTFTBuckets: {Over: Buckets, Of: []Series{named("vllm:time_to_first_token_seconds")}},
		// Without the latency per request: buckets of 0 for a request of one
		// token would hide the others.
		ITLBuckets: {Over: Buckets, Of: []Series{named(itl...)}},
		// 0.11 on.
		RequestITLBuckets: {Over: Buckets, Of: []Series{named("vllm:request_time_per_output_token_seconds")}},
		NoRequestSince:    {Over: NoRequests, Holds: []Series{running, waiting}, Still: []Series{generation, prompt, success}, Born: []Series{success}},
	}
}

func named(names ...string) Series { return Series{Names: names} }

// counted returns the names that counters have in a store: with the suffix _total, as on a page,
// and without it, because a collector in between may drop it, as OpenTelemetry's may.
func counted(names ...string) []string {
	all := make([]string, 0, 2*len(names))
	for _, name := range names {
		all = append(all, name+"_total", name)
	}
	return all
}

// stuckScrapes is how many scrapes must show that nothing moves before a replica counts as sick or
// frozen.
const stuckScrapes = 4

// histogramRates returns the rates per second of the sum and of the number of a histogram's
// observations.
func histogramRates(series func(names ...string) Series, histograms ...string) (sum, count Recipe) {
	mean := histogramMean(1, series, histograms...)
	return Recipe{Over: Rate, Of: mean.Of}, Recipe{Over: Rate, Of: []Series{mean.Per}}
}

// histogramMean returns the mean of a histogram's observations. The names are twins; series makes
// the series of a sum or a count from their full names.
func histogramMean(scale float64, series func(names ...string) Series, histograms ...string) Recipe {
	var sums, counts []string
	for _, name := range histograms {
		sums, counts = append(sums, name+"_sum"), append(counts, name+"_count")
	}
	return Recipe{Over: Mean, Of: []Series{series(sums...)}, Per: series(counts...), Scale: scale}
}

package query

const sglangRunning = "sglang:num_running_reqs"

// sglang returns the recipes for SGLang 0.3.6 to 0.5. Its pages have two kinds of series. Series of
// the scheduler carry the ranks of the process that wrote them: dp_rank holds different requests,
// while tp_rank, pp_rank and moe_ep_rank work on the same ones and repeat each other. Series of the
// tokenizer carry no rank and, in newer versions, is_streaming, whose values add up. With priority
// scheduling some gauges have a series for each priority beside the total, whose priority is empty.
func sglang() map[Quantity]Recipe {
	scheduler := func(names ...string) Series { return Series{Names: names, With: []string{"priority="}} }
	tokenizer := func(by ...string) func(names ...string) Series {
		return func(names ...string) Series {
			return Series{Names: names, By: append([]string{"is_streaming"}, by...)}
		}
	}
	finished := tokenizer()
	// The first token of a request that is not streamed is its whole answer, so such requests are
	// left out. Versions without the label are counted whole.
	streamed := func(names ...string) Series {
		return Series{Names: names, Without: []string{"is_streaming=false"}, By: []string{"is_streaming"}}
	}

	running, usage := scheduler(sglangRunning), scheduler("sglang:token_usage")
	// Requests whose grammar is being compiled wait in a queue of their own.
	queues := []Series{scheduler("sglang:num_queue_reqs"), scheduler("sglang:num_grammar_queue_reqs")}
	held := []Series{running, queues[0], queues[1]}
	// Requests count when they finish; aborted ones are not among them. Versions before the counter
	// have the histogram of latencies.
	requests := finished(append(counted("sglang:num_requests"), "sglang:e2e_request_latency_seconds_count")...)
	aborted := finished(counted("sglang:num_aborted_requests")...)
	prompt, generation := finished(counted("sglang:prompt_tokens")...), finished(counted("sglang:generation_tokens")...)
	// The counters of tokens move when a request ends. While it runs, only realtime_tokens_total
	// moves, prefill included, and in older versions gen_throughput: a measured speed, which hardly
	// ever repeats itself while tokens are generated. A scheduler that hangs leaves it at its last
	// value, so a value above 0 proves nothing. token_usage moves too, but is rounded to
	// hundredths.
	steps, speed := scheduler(counted("sglang:realtime_tokens")...), scheduler("sglang:gen_throughput")
	steps.By = []string{"mode"}
	counters := []Series{steps, prompt, generation, requests, aborted}
	const ttft = "sglang:time_to_first_token_seconds"
	// One observation per token, weighted by the tokens of an output; early 0.4.
	itl := []string{"sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"}

	decoding, generated := histogramRates(finished, itl...)
	starting, started := histogramRates(streamed, ttft)

	return map[Quantity]Recipe{
		KVCacheUsagePeak: {Over: Peak, Of: []Series{usage}, Worst: true},
		KVCacheUsage:     {Over: Last, Of: []Series{usage}, Worst: true},
		QueueLengthPeak:  {Over: Peak, Of: queues},
		QueueLength:      {Over: Last, Of: queues},
		Running:          {Over: Last, Of: []Series{running}},
		// In tokens already, and a separate size for each data-parallel rank.
		KVCapacity: {Over: Last, Of: []Series{scheduler("sglang:max_total_num_tokens")}},
		Decoding:   decoding, Generated: generated, Starting: starting, Started: started,
		Generating: {Over: Moving, Of: []Series{steps, speed}},
		// Several processes write its pages, and these do not say when a process began.
		Resets: {Over: Fallen, Of: []Series{generation}},
		Stuck: {
			Over: Idle, Of: queues, Holds: held,
			Still:   []Series{steps, speed, running, queues[0], queues[1], usage, prompt, generation, requests, aborted},
			Scrapes: stuckScrapes,
		},
		Completions:    {Over: Rate, Of: []Series{requests, aborted}},
		InFlightGrowth: {Over: Growth, Of: held},
		// The histograms of lengths are off by default. The counters are always on, and count
		// finished requests.
		InputTokens:  {Over: Mean, Of: []Series{prompt}, Per: requests},
		OutputTokens: {Over: Mean, Of: []Series{generation}, Per: requests},
		TTFT:         histogramMean(1000, streamed, ttft),
		ITL:          histogramMean(1000, finished, itl...),
		// Absent until the first hit.
		PrefixHits:     {Over: Mean, Of: []Series{tokenizer("cache_source")(counted("sglang:cached_tokens")...)}, Per: prompt},
		TTFTBuckets:    {Over: Buckets, Of: []Series{streamed(ttft)}},
		ITLBuckets:     {Over: Buckets, Of: []Series{finished(itl...)}},
		NoRequestSince: {Over: NoRequests, Holds: held, Still: counters, Born: counters},
	}
}

package page

import "slices"

// sglang writes the series of one data-parallel rank. The second process of tensor parallelism
// repeats the gauges, as SGLang does where its options say so.
func (p *Pod) sglang(e *output, rank string, r *Rank) {
	c := &r.counts
	for _, tensor := range []string{"0", "1"} {
		labels := []string{"model_name", p.Model, "engine_type", "unified", "tp_rank", tensor, "pp_rank", "0", "dp_rank", rank}
		e.family("gauge", "sglang:num_running_reqs", r.Running, labels...)
		e.family("gauge", "sglang:num_queue_reqs", r.Waiting, labels...)
		e.family("gauge", "sglang:token_usage", r.Usage, labels...)
		e.family("gauge", "sglang:max_total_num_tokens", float64(p.Blocks*p.BlockSize), labels...)
		if p.Version == Oldest {
			e.family("gauge", "sglang:gen_throughput", c.generation/1000, labels...)
			continue
		}
		e.family("gauge", "sglang:num_running_reqs", r.Running, slices.Concat(labels, []string{"priority", "1"})...)
		e.family("gauge", "sglang:num_grammar_queue_reqs", 0, labels...)
		e.family("counter", "sglang:realtime_tokens_total", c.generation, slices.Concat(labels, []string{"mode", "decode"})...)
	}
	if rank != "0" {
		return // the tokenizer counts for all ranks
	}
	p.tokenizer(e)
}

// tokenizer writes the counts that SGLang keeps of ended requests, of all ranks. A series appears
// with its first count.
func (p *Pod) tokenizer(e *output) {
	model := []string{"model_name", p.Model}
	itl := newHistogram(SGLangITLBounds())
	var aborted, cached float64
	var streams [2]stream
	for i := range streams {
		streams[i].ttft = newHistogram(SGLangTTFTBounds())
	}
	for _, r := range p.Ranks {
		itl.add(r.counts.itl)
		aborted += r.counts.ended["abort"]
		cached += r.counts.cached
		for i := range streams {
			streams[i].add(r.counts.streamed[i])
		}
	}
	if p.Version == Oldest {
		// One series for both.
		streams[0].add(streams[1])
		streams[1] = stream{ttft: newHistogram(SGLangTTFTBounds())}
	}
	for i, s := range streams {
		if s.requests == 0 {
			continue
		}
		labels := model
		if p.Version != Oldest {
			labels = slices.Concat(model, []string{"is_streaming", []string{"true", "false"}[i]})
		}
		e.family("counter", "sglang:num_requests_total", s.requests, labels...)
		e.family("counter", "sglang:prompt_tokens_total", s.prompt, labels...)
		e.family("counter", "sglang:generation_tokens_total", s.generation, labels...)
		e.histogram("sglang:time_to_first_token_seconds", s.ttft, labels...)
	}
	if aborted > 0 {
		e.family("counter", "sglang:num_aborted_requests_total", aborted, model...)
	}
	if cached > 0 {
		e.family("counter", "sglang:cached_tokens_total", cached, slices.Concat(model, []string{"cache_source", "device"})...)
	}
	if itl.atMost[len(itl.bounds)] > 0 {
		for _, name := range p.names("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds") {
			e.histogram(name, itl, model...)
		}
	}
}

func (s *stream) add(other stream) {
	s.requests += other.requests
	s.prompt += other.prompt
	s.generation += other.generation
	s.ttft.add(other.ttft)
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.atMost {
		h.atMost[i] += n
	}
	h.sum += other.sum
}

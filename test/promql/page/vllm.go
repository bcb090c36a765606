package page

import (
	"slices"
	"strconv"
)

// reasons returns the ends of a request that vLLM distinguishes, in page order.
func reasons() []string { return []string{"stop", "length", "abort"} }

// vllm writes the series of one rank.
func (p *Pod) vllm(e *output, rank string, r *Rank) {
	labels := []string{"model_name", p.Model}
	if p.Version != Oldest {
		labels = append(labels, "engine", rank)
	}
	c := &r.counts
	e.family("gauge", "vllm:num_requests_running", r.Running, labels...)
	e.family("gauge", "vllm:num_requests_waiting", r.Waiting, labels...)
	if p.Version == Newest {
		e.family("gauge", "vllm:num_requests_waiting_by_reason", r.Waiting, slices.Concat(labels, []string{"reason", "capacity"})...)
		e.family("gauge", "vllm:num_requests_waiting_by_reason", 0, slices.Concat(labels, []string{"reason", "deferred"})...)
	}
	for _, name := range p.names("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc") {
		e.family("gauge", name, r.Usage, labels...)
	}
	for _, prefix := range p.names("vllm:prefix_cache", "vllm:gpu_prefix_cache") {
		e.family("counter", prefix+"_queries_total", c.prompt, labels...)
		e.family("counter", prefix+"_hits_total", c.cached, labels...)
	}
	e.family("counter", "vllm:prompt_tokens_total", c.prompt, labels...)
	e.family("gauge", "vllm:prompt_tokens_created", p.Began, labels...)
	e.family("counter", "vllm:generation_tokens_total", c.generation, labels...)
	e.family("gauge", "vllm:generation_tokens_created", p.Began, labels...)
	for _, reason := range reasons() {
		e.family("counter", "vllm:request_success_total", c.ended[reason], slices.Concat(labels, []string{"finished_reason", reason})...)
	}
	e.histogram("vllm:request_prompt_tokens", c.input, labels...)
	e.histogram("vllm:request_generation_tokens", c.output, labels...)
	e.histogram("vllm:time_to_first_token_seconds", c.ttft, labels...)
	for _, name := range p.names("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds") {
		e.histogram(name, c.itl, labels...)
	}
	// Every rank exports the sum over the ranks, without the model.
	cache := []string{"block_size", strconv.Itoa(p.BlockSize), "cache_dtype", "auto", "num_gpu_blocks", strconv.Itoa(p.Blocks)}
	if p.Version != Oldest {
		cache = append(cache, "engine", rank)
	}
	e.family("gauge", "vllm:cache_config_info", 1, cache...)
}

// names returns those of a new and an old name that the version has.
func (p *Pod) names(newer, older string) []string {
	switch p.Version {
	case Both:
		return []string{newer, older}
	case Oldest:
		return []string{older}
	default:
		return []string{newer}
	}
}

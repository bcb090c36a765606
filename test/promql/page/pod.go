package page

import (
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Version is a set of engine versions with equal pages. The zero value is the newest.
type Version uint8

// The versions.
const (
	Newest Version = iota
	// Both has the old and the new names of vLLM: 0.11 with hidden metrics.
	Both
	// Oldest has the old names alone and no ranks: vLLM 0.8, SGLang 0.4.
	Oldest
)

// Pod is one serving pod. Its fields may change between two pages; its counts stay.
type Pod struct {
	Engine  query.Engine
	Version Version
	Model   string // as the engine names it
	Ranks   []*Rank
	// Blocks and BlockSize are the size of the KV cache: of a rank for SGLang, of all ranks for
	// vLLM.
	Blocks, BlockSize int
	// Began is when the counters of the process began, in seconds since 1970. A restart adds a
	// second.
	Began float64
}

// Rank is one data-parallel rank of a pod, with its present state.
type Rank struct {
	Running, Waiting float64 // requests
	Usage            float64 // of the KV cache, ratio
	counts           counts
}

// Request is a request that ended.
type Request struct {
	Input, Output, Cached float64 // tokens
	TTFT, ITL             float64 // s
	Reason                string  // stop, length or abort
	Unstreamed            bool    // SGLang counts these apart
}

// counts are the counters of a rank since it began.
type counts struct {
	prompt, generation, cached float64
	ended                      map[string]float64 // by reason
	streamed                   [2]stream          // streamed, then not
	ttft, itl, input, output   *histogram
}

// stream holds the counters that SGLang splits by is_streaming.
type stream struct {
	requests, prompt, generation float64
	ttft                         *histogram
}

// NewPod returns a pod that has just started, with n ranks.
func NewPod(engine query.Engine, version Version, model string, n int) *Pod {
	p := &Pod{Engine: engine, Version: version, Model: model, Blocks: 1000, BlockSize: 16, Began: 1.7e9}
	for range n {
		p.Ranks = append(p.Ranks, &Rank{})
	}
	p.Restart()
	return p
}

// Restart sets all counters to zero and empties the pod.
func (p *Pod) Restart() {
	p.Began++
	for _, r := range p.Ranks {
		*r = Rank{counts: newCounts(p.Engine)}
	}
}

func newCounts(engine query.Engine) counts {
	ttft, itl := TTFTBounds(), ITLBounds()
	if engine == query.SGLang {
		ttft, itl = SGLangTTFTBounds(), SGLangITLBounds()
	}
	c := counts{
		// vLLM creates all of these at the start.
		ended: map[string]float64{"stop": 0, "length": 0, "abort": 0},
		ttft:  newHistogram(ttft), itl: newHistogram(itl),
		input: newHistogram(lengthBounds()), output: newHistogram(lengthBounds()),
	}
	for i := range c.streamed {
		c.streamed[i].ttft = newHistogram(ttft)
	}
	return c
}

// End counts n requests that ended.
func (r *Rank) End(request Request, n float64) {
	c := &r.counts
	c.ended[request.Reason] += n
	c.prompt += request.Input * n
	c.generation += request.Output * n
	c.cached += request.Cached * n
	c.input.observe(request.Input, n)
	c.output.observe(request.Output, n)
	c.ttft.observe(request.TTFT, n)
	c.itl.observe(request.ITL, n*max(request.Output-1, 0))
	s := &c.streamed[0]
	if request.Unstreamed {
		s = &c.streamed[1]
	}
	s.requests += n
	s.prompt += request.Input * n
	s.generation += request.Output * n
	s.ttft.observe(request.TTFT, n)
}

// Generate counts output tokens of requests that have not ended.
func (r *Rank) Generate(tokens float64) { r.counts.generation += tokens }

// Page returns the pod's page.
func (p *Pod) Page() []byte {
	var e output
	for i, r := range p.Ranks {
		if p.Engine == query.SGLang {
			p.sglang(&e, strconv.Itoa(i), r)
		} else {
			p.vllm(&e, strconv.Itoa(i), r)
		}
	}
	return e.Bytes()
}

package emulator

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// engineCounters holds the values of a vLLM metrics page that serving.Stats does not have.
type engineCounters struct {
	histograms [histogramCount]histogram
	refused    uint64 // requests refused because the queue was full
}

// newEngineCounters returns counters with every child at 0.
func newEngineCounters(p serving.Profile) *engineCounters {
	layouts := bucketLayouts(p.MaxModelLen)
	pg := &engineCounters{}
	for i := range pg.histograms {
		pg.histograms[i] = newHistogram(layouts[i])
	}
	return pg
}

func (p *engineCounters) clone() *engineCounters {
	c := *p
	for i := range c.histograms {
		c.histograms[i] = p.histograms[i].clone()
	}
	return &c
}

func (p *engineCounters) observe(id histogramID, v float64) { p.histograms[id].observe(v) }

// observeFinish records the observations that vLLM makes when a request finishes.
func (p *engineCounters) observeFinish(c *call, at time.Duration) {
	p.observe(endToEnd, (at - c.submitted).Seconds())
	p.observe(queueTime, (c.admitted - c.submitted).Seconds())
	p.observe(prefillTime, (c.first - c.admitted).Seconds())
	p.observe(decodeTime, (at - c.first).Seconds())
	p.observe(inferenceTime, (at - c.admitted).Seconds())
	p.observe(promptTokens, float64(c.request.InputTokens))
	p.observe(computedTokens, float64(c.request.InputTokens-c.request.CachedTokens))
	p.observe(generationTokens, float64(c.generated))
	p.observe(maxGenerationTokens, float64(c.request.OutputTokens))
	p.observe(maxTokens, float64(c.request.OutputTokens))
	p.observe(choices, 1)
	p.observe(requestPreemptions, float64(c.preemptions))
	perToken := 0.0 // vLLM observes 0 for a request of one token
	if c.generated > 1 {
		perToken = (at - c.first).Seconds() / float64(c.generated-1)
	}
	p.observe(requestTimePerToken, perToken)
}

// writePage writes a vLLM metrics page of release v for model.
func writePage(e *exposition.Page, families []family, v Version, model string, s *view) {
	labels := exposition.Labels("engine", "0", "model_name", model)
	for i := range families {
		f := &families[i]
		if !f.in(v) {
			continue
		}
		e.Family(f.name, f.kind, f.help)
		switch {
		case f.histogram != noHistogram:
			s.counters.histograms[f.histogram].expose(e, f.name, labels)
		case f.label != "":
			for _, c := range f.children {
				if c.since <= v {
					e.Sample(f.name, labels+","+exposition.Labels(f.label, c.value), c.read(s))
				}
			}
		default:
			e.Sample(f.name, labels, f.value(s))
		}
	}
	e.Family("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
	e.Sample("vllm:cache_config_info", exposition.Labels(cacheConfig(s.profile, v)...), 1)
}

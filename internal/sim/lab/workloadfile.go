package lab

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Mean lengths of requests where a scenario file has none: those of ShareGPT.
const (
	defaultInputTokens  = workload.ShareGPTInputMean
	defaultOutputTokens = workload.ShareGPTOutputMean
)

// workload reads one of the workloads of a scenario, which run side by side: a stretch of a file,
// or a generator.
func (r scenarioReader) workload(v value, parts *[]Source) error {
	var file, generator string
	input, output := float64(defaultInputTokens), float64(defaultOutputTokens)
	c := Cut{Times: 1}
	err := v.mapping(map[string]reader{
		"file": text(&file), "generator": text(&generator), "from": span(&c.From, 0), "for": span(&c.For, time.Second),
		"times": number(&c.Times, 1e-9, 1e4), "inputTokens": number(&input, 1, 1e5), "outputTokens": number(&output, 1, 1e5),
	})
	if err != nil {
		return err
	}
	if (file == "") == (generator == "") {
		return v.wrong("one of the fields file and generator")
	}
	if c.Lengths, err = workload.ChatLengths(input, output); err != nil {
		return v.wrong("inputTokens and outputTokens of a request: " + err.Error())
	}
	if generator != "" {
		p, err := workload.ParseProfile(generator)
		if err != nil {
			return v.wrong("a generator such as sine(1->12,1h,4h): " + err.Error())
		}
		*parts = append(*parts, Generator(p, c.Lengths))
		return nil
	}
	one, err := r.open(file)
	if err != nil {
		return v.wrong("a workload: " + err.Error())
	}
	if c.For == 0 {
		c.For = one.Span() - c.From%one.Span()
	}
	*parts = append(*parts, c.Of(one))
	return nil
}

package page

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

// output is a page in the making.
type output struct {
	exposition.Page
	typed map[string]bool
}

// family writes one sample of a counter or gauge. Labels are names and values in turn.
func (o *output) family(kind, name string, value float64, labels ...string) {
	o.typeOf(kind, name)
	o.Sample(name, exposition.Labels(labels...), value)
}

// histogram writes one histogram.
func (o *output) histogram(name string, h *histogram, labels ...string) {
	o.typeOf("histogram", name)
	o.Histogram(name, exposition.Labels(labels...), h.bounds, h.atMost, h.sum)
}

func (o *output) typeOf(kind, name string) {
	if o.typed == nil {
		o.typed = map[string]bool{}
	}
	if !o.typed[name] {
		o.typed[name] = true
		o.Family(name, kind, "Of no interest.")
	}
}

// histogram counts observations at or below each bound.
type histogram struct {
	bounds []float64 // ascending, without +Inf
	atMost []float64 // up to each bound, and all
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, atMost: make([]float64, len(bounds)+1)}
}

// observe adds n observations of v.
func (h *histogram) observe(v, n float64) {
	first, _ := slices.BinarySearch(h.bounds, v)
	for i := range h.atMost[first:] {
		h.atMost[first+i] += n
	}
	h.sum += v * n
}

// TTFTBounds returns vLLM's bounds of the time to first token [s], 0.8 to 0.32.
func TTFTBounds() []float64 {
	return []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
}

// ITLBounds returns vLLM's bounds of the inter-token latency [s], 0.8 to 0.32.
func ITLBounds() []float64 {
	return []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

// SGLangTTFTBounds returns SGLang's bounds of the time to first token [s].
func SGLangTTFTBounds() []float64 {
	return []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
}

// SGLangITLBounds returns SGLang's bounds of the inter-token latency [s].
func SGLangITLBounds() []float64 {
	return []float64{.002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8}
}

// lengthBounds returns vLLM's bounds of request lengths [tokens], up to a model length of 10,000.
func lengthBounds() []float64 {
	return []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
}

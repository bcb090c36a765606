package page

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// exposition is a page being written, in the text format.
type exposition struct {
	bytes.Buffer
	typed map[string]bool
}

// family writes one sample of a counter or gauge. Labels are name and value in
// turn.
func (e *exposition) family(kind, name string, value float64, labels ...string) {
	e.typeOf(kind, name)
	e.sample(name, value, labels)
}

// histogram writes one histogram.
func (e *exposition) histogram(name string, h *histogram, labels ...string) {
	e.typeOf("histogram", name)
	for i, bound := range h.bounds {
		e.sample(name+"_bucket", h.atMost[i], slices.Concat(labels, []string{"le", float(bound)}))
	}
	e.sample(name+"_bucket", h.count, slices.Concat(labels, []string{"le", "+Inf"}))
	e.sample(name+"_sum", h.sum, labels)
	e.sample(name+"_count", h.count, labels)
}

func (e *exposition) typeOf(kind, name string) {
	if e.typed == nil {
		e.typed = map[string]bool{}
	}
	if !e.typed[name] {
		e.typed[name] = true
		fmt.Fprintf(e, "# HELP %s Of no interest.\n# TYPE %s %s\n", name, name, kind)
	}
}

func (e *exposition) sample(name string, value float64, labels []string) {
	e.WriteString(name)
	separator := "{"
	for pair := range slices.Chunk(labels, 2) {
		fmt.Fprintf(e, "%s%s=\"%s\"", separator, pair[0], escaper.Replace(pair[1]))
		separator = ","
	}
	if len(labels) > 0 {
		e.WriteString("}")
	}
	fmt.Fprintf(e, " %s\n", float(value))
}

// escaper escapes a label value as the text format wants it.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// float renders a number as Python does, with a point: "1.0".
func float(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsNaN(v):
		return "NaN"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
}

// histogram counts observations at or below each bound.
type histogram struct {
	bounds []float64 // ascending, without +Inf
	atMost []float64
	sum    float64
	count  float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, atMost: make([]float64, len(bounds))}
}

// observe adds n observations of v.
func (h *histogram) observe(v, n float64) {
	for i, bound := range h.bounds {
		if v <= bound {
			h.atMost[i] += n
		}
	}
	h.sum += v * n
	h.count += n
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

// lengthBounds are vLLM's of request lengths [tokens], up to a model length of
// 10,000.
func lengthBounds() []float64 {
	return []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
}

package emulator

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// contentType is that of the Prometheus text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// exposition writes the Prometheus text format as the Python client does, whose
// floats keep their point: le="1.0", where Go's client writes le="1".
type exposition struct{ bytes.Buffer }

// family writes the two lines that begin a family.
func (e *exposition) family(name, kind, help string) {
	e.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one line; labels come from labelSet.
func (e *exposition) sample(name, labels string, value float64) {
	e.WriteString(name)
	if labels != "" {
		e.WriteString("{" + labels + "}")
	}
	e.WriteString(" " + pythonFloat(value) + "\n")
}

// histogram writes the lines of one child.
func (e *exposition) histogram(name, labels string, h *histogram) {
	prefix := labels
	if prefix != "" {
		prefix += ","
	}
	cumulative := uint64(0)
	for i, n := range h.counts {
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		cumulative += n
		e.sample(name+"_bucket", prefix+`le="`+pythonFloat(bound)+`"`, float64(cumulative))
	}
	e.sample(name+"_count", labels, float64(cumulative))
	e.sample(name+"_sum", labels, h.sum)
}

// labelSet joins names and values, given in turn, in the text format.
func labelSet(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + `="` + escapeLabel(pairs[i+1]) + `"`)
	}
	return b.String()
}

func escapeLabel(v string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(v)
}

// pythonFloat writes v as floatToGoString of the Python client: repr, but with
// Go's exponent from 1e6 on.
func pythonFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e6) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Package exposition writes the Prometheus text format as the Python client of vLLM
// and SGLang does. Its floats keep their point, le="1.0", where expfmt of Go's client
// writes le="1".
package exposition

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// ContentType is the content type of the Prometheus text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page is a page while it is written. The zero value is empty.
type Page struct{ bytes.Buffer }

// Family writes the two lines that begin a family.
func (p *Page) Family(name, kind, help string) {
	p.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// Sample writes one line; labels come from [Labels].
func (p *Page) Sample(name, labels string, value float64) {
	p.WriteString(name)
	if labels != "" {
		p.WriteString("{" + labels + "}")
	}
	p.WriteString(" " + Float(value) + "\n")
}

// Histogram writes the lines of one child. The bounds ascend, without +Inf; atMost holds the number
// of observations up to each bound and, last, of all.
func (p *Page) Histogram(name, labels string, bounds, atMost []float64, sum float64) {
	prefix := labels
	if prefix != "" {
		prefix += ","
	}
	for i, n := range atMost {
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		p.Sample(name+"_bucket", prefix+`le="`+Float(bound)+`"`, n)
	}
	p.Sample(name+"_count", labels, atMost[len(bounds)])
	p.Sample(name+"_sum", labels, sum)
}

// Labels returns names and values, given in turn, in the text format.
func Labels(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + `="` + escaper.Replace(pairs[i+1]) + `"`)
	}
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Float returns v as floatToGoString of the Python client does: repr, but with Go's exponent from
// 1e6 on.
func Float(v float64) string {
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

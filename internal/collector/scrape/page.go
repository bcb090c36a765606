package scrape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// errTooLarge is the error of a page beyond the limit.
var errTooLarge = errors.New("the page is too large")

// point is one number of a page.
type point struct {
	name   string // of the series, with the suffix of a histogram's part
	labels []label
	value  float64
}

// label is a name and a value that is not empty.
type label struct{ name, value string }

// maxWanted bounds the lines of a page that are parsed, in bytes: maxSeries of them,
// 128 bytes each.
const maxWanted = 2 << 20

// parsePage returns the points of a page in the Prometheus text format, in the order
// of their keys.
func parsePage(page io.Reader) ([]point, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return nil, fmt.Errorf("parsing the page: %w", err)
	}
	var points []point
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		points = appendFamily(points, name, parsed[name])
	}
	return points, nil
}

// wantedLines returns the lines of a page that speak of wanted families, which few
// do, and how many of them are series. A page longer than limit is an error, and so is too
// much that is wanted.
func wantedLines(r io.Reader, wanted families, limit int64) (kept *bytes.Buffer, series int, err error) {
	kept = &bytes.Buffer{}
	lines := bufio.NewScanner(io.LimitReader(r, limit+1))
	lines.Buffer(nil, 1<<20)
	read := int64(0)
	for lines.Scan() {
		line := lines.Bytes()
		if read += int64(len(line)) + 1; read > limit {
			return nil, 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
		}
		if !wanted.has(subject(line)) {
			continue
		}
		if kept.Len()+len(line) >= maxWanted {
			return nil, 0, fmt.Errorf("%w: more than %d bytes of it are about what is read", errTooLarge, maxWanted)
		}
		if line[0] != '#' {
			series++
		}
		kept.Write(line)
		kept.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		return nil, 0, fmt.Errorf("reading the page: %w", err)
	}
	return kept, series, nil
}

// subject returns the metric that a line is about, nil for none.
func subject(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t")
	if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
		line = rest
	}
	if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
		line = line[:end]
	}
	return line
}

// families are metric names, those of histograms without the suffixes of their
// parts; with that of the buckets where these are read too.
type families map[string]struct{}

// has reports whether a series name belongs to one of f.
func (f families) has(name []byte) bool {
	if _, ok := f[string(name)]; ok {
		return true
	}
	for _, suffix := range []string{"_sum", "_count"} {
		if base, ok := bytes.CutSuffix(name, []byte(suffix)); ok {
			_, ok = f[string(base)]
			return ok
		}
	}
	return false
}

// appendFamily appends the points of one family.
func appendFamily(points []point, name string, family *dto.MetricFamily) []point {
	for _, m := range family.GetMetric() {
		labels := make([]label, 0, len(m.GetLabel()))
		for _, l := range m.GetLabel() {
			if l.GetValue() != "" {
				labels = append(labels, label{l.GetName(), l.GetValue()})
			}
		}
		slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
		switch {
		case m.GetHistogram() != nil:
			points = appendHistogram(points, name, labels, m.GetHistogram())
		case m.GetCounter() != nil:
			points = append(points, point{name, labels, m.GetCounter().GetValue()})
		case m.GetGauge() != nil:
			points = append(points, point{name, labels, m.GetGauge().GetValue()})
		case m.GetUntyped() != nil:
			points = append(points, point{name, labels, m.GetUntyped().GetValue()})
		}
	}
	return points
}

// appendHistogram appends the parts of a histogram as the text format names them.
func appendHistogram(points []point, name string, labels []label, h *dto.Histogram) []point {
	inf := false
	for _, b := range h.GetBucket() {
		inf = inf || math.IsInf(b.GetUpperBound(), 1)
		points = append(points, point{name + "_bucket", withBound(labels, b.GetUpperBound()), float64(b.GetCumulativeCount())})
	}
	if !inf && len(h.GetBucket()) > 0 {
		points = append(points, point{name + "_bucket", withBound(labels, math.Inf(1)), float64(h.GetSampleCount())})
	}
	return append(points,
		point{name + "_sum", labels, h.GetSampleSum()},
		point{name + "_count", labels, float64(h.GetSampleCount())})
}

// withBound returns labels and le, written as Prometheus does.
func withBound(labels []label, bound float64) []label {
	le := "+Inf"
	if !math.IsInf(bound, 1) {
		le = strconv.FormatFloat(bound, 'g', -1, 64)
	}
	out := append(slices.Clone(labels), label{"le", le})
	slices.SortFunc(out, func(a, b label) int { return strings.Compare(a.name, b.name) })
	return out
}

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

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// errTooLarge is the error of a page that exceeds a limit.
var errTooLarge = errors.New("the page is too large")

// point is one number of a page.
type point struct {
	name   string // of the series, with the suffix of a histogram's part
	labels []label
	value  float64
}

// label is a name and a value that is not empty.
type label struct{ name, value string }

// maxWanted limits the lines of a page that are parsed, in bytes: maxSeries of them, 128 bytes
// each.
const maxWanted = 2 << 20

// parsePage returns the points of the lines that wantedLines kept, in the order of their names.
func parsePage(lines io.Reader) ([]point, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(lines)
	if err != nil {
		return nil, fmt.Errorf("parsing the page: %w", err)
	}
	var points []point
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		for _, m := range parsed[name].GetMetric() {
			points = append(points, point{name, labelsOf(m), m.GetUntyped().GetValue()})
		}
	}
	return points, nil
}

// labelsOf returns the labels of a sample that have a value. The bound of a bucket has one
// spelling, because pages write it in several.
func labelsOf(m *dto.Metric) []label {
	labels := make([]label, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		value := l.GetValue()
		if l.GetName() == query.LabelBound {
			value = boundText(value)
		}
		if value != "" {
			labels = append(labels, label{l.GetName(), value})
		}
	}
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	return labels
}

// boundText returns the bound of a bucket in its shortest form, 1 for 1.0, and text as it is where
// it is no number.
func boundText(text string) string {
	bound, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(bound):
		return text
	case math.IsInf(bound, 1):
		return "+Inf"
	}
	return strconv.FormatFloat(bound, 'g', -1, 64)
}

// wantedLines returns the samples of the wanted families, which are few, as lines of the text
// format, and their number. It leaves out everything that is not read: descriptions and types of
// families, which may occur twice, exemplars and timestamps. A page longer than limit is an error,
// and so are more than maxWanted bytes of samples.
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
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] == '#' || !wanted.has(nameOf(line)) {
			continue
		}
		line = withoutTail(line)
		if kept.Len()+len(line) >= maxWanted {
			return nil, 0, fmt.Errorf("%w: more than %d bytes of it are about what is read", errTooLarge, maxWanted)
		}
		series++
		kept.Write(line)
		kept.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		return nil, 0, fmt.Errorf("reading the page: %w", err)
	}
	return kept, series, nil
}

// nameOf returns the name of the series of a sample.
func nameOf(line []byte) []byte {
	if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
		return line[:end]
	}
	return line
}

// withoutTail returns a sample without the timestamp and exemplar after its value, and a line that
// is no sample as it is.
func withoutTail(line []byte) []byte {
	at := len(nameOf(line))
	at += len(line[at:]) - len(bytes.TrimLeft(line[at:], " \t"))
	if at < len(line) && line[at] == '{' {
		end := endOfLabels(line[at:])
		if end < 0 {
			return line
		}
		at += end
		at += len(line[at:]) - len(bytes.TrimLeft(line[at:], " \t"))
	}
	if length := bytes.IndexAny(line[at:], " \t"); length > 0 {
		return line[:at+length]
	}
	return line
}

// endOfLabels returns where the labels at the beginning of text end, -1 where they do not.
func endOfLabels(text []byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == '}':
			return i + 1
		}
	}
	return -1
}

// families are metric names, those of histograms without the suffixes of their parts; with the
// suffix of the buckets where these are read too.
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

package promql

import (
	"bufio"
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// scenario is one case of testdata: series, and the rows that questions about
// them must give. README.md describes the format.
type scenario struct {
	name   string // file and first line
	series []load
	asks   []ask
}

// load is one series, from the beginning of the scenario on.
type load struct {
	interval time.Duration
	labels   labels.Labels
	values   []parser.SequenceValue
}

// ask is one question of a scenario and the rows that it must get, whose times
// are offsets from the beginning of the scenario, in seconds.
type ask struct {
	line    string
	at      time.Duration
	request query.Request
	want    []query.Row
}

// readScenarios reads every file of testdata.
func readScenarios(t *testing.T) []scenario {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var all []scenario
	for _, file := range files {
		r := reader{file: file}
		if err := r.read(); err != nil {
			t.Fatalf("%s:%d: %v", file, r.number, err)
		}
		all = append(all, r.scenarios...)
	}
	return all
}

// reader reads one file, line by line.
type reader struct {
	file      string
	number    int
	scenarios []scenario
	interval  time.Duration // of the load block that is being read, 0 outside
	lastIsAsk bool
}

func (r *reader) read() error {
	f, err := os.Open(r.file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		r.number++
		if err := r.line(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// line takes one line. What is indented belongs to the load or ask above it.
func (r *reader) line(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	indented := strings.HasPrefix(text, "  ")
	switch {
	case words[0] == "scenario" && !indented:
		r.scenarios = append(r.scenarios, scenario{name: filepath.Base(r.file) + ": " + strings.Join(words[1:], " ")})
		r.interval, r.lastIsAsk = 0, false
		return nil
	case len(r.scenarios) == 0:
		return fmt.Errorf("%q stands before the first scenario", text)
	}
	s := &r.scenarios[len(r.scenarios)-1]
	var err error
	switch {
	case words[0] == "load" && !indented && len(words) == 2:
		r.lastIsAsk = false
		r.interval, err = time.ParseDuration(words[1])
		return err
	case words[0] == "ask" && !indented:
		a, err := readAsk(words[1:])
		if err != nil {
			return err
		}
		s.asks, r.lastIsAsk = append(s.asks, a), true
		return nil
	case indented && r.lastIsAsk:
		a := &s.asks[len(s.asks)-1]
		row, err := readRow(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		a.want = append(a.want, row)
		return nil
	case indented && r.interval > 0:
		l := load{interval: r.interval}
		l.labels, l.values, err = parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(text))
		s.series = append(s.series, l)
		return err
	default:
		return fmt.Errorf("%q is neither scenario, load, ask nor a line below one", text)
	}
}

// readAsk reads the words after "ask": the question, then pairs of which "at" is
// required.
func readAsk(words []string) (ask, error) {
	a := ask{line: strings.Join(words, " ")}
	i := slices.IndexFunc(query.Questions(), func(q query.Question) bool { return q.String() == words[0] })
	if i < 0 || len(words)%2 != 1 {
		return ask{}, fmt.Errorf("%q is no question with pairs of words", a.line)
	}
	a.request.Ask = query.Question(i)
	var err error
	for pair := range slices.Chunk(words[1:], 2) {
		switch pair[0] {
		case "at":
			a.at, err = time.ParseDuration(pair[1])
		case "window":
			a.request.Window, err = time.ParseDuration(pair[1])
		case "span":
			a.request.Span, err = time.ParseDuration(pair[1])
		case "namespaces":
			a.request.Namespaces = strings.Split(pair[1], ",")
		case "models":
			a.request.Models = strings.Split(pair[1], ",")
		case "pods":
			a.request.Pods = strings.Split(pair[1], ",")
		case "aged":
			a.request.Aged, err = strconv.ParseBool(pair[1])
		case "whole":
			a.request.Whole, err = strconv.ParseBool(pair[1])
		default:
			err = fmt.Errorf("%q is none of at, window, span, namespaces, models, pods, aged, whole", pair[0])
		}
		if err != nil {
			return ask{}, err
		}
	}
	return a, nil
}

// readRow reads a row: a quantity with labels, then its value in Go's arithmetic,
// or a duration for what is a time.
func readRow(text string) (query.Row, error) {
	series, value, ok := strings.Cut(text, "} ")
	if !ok {
		return query.Row{}, fmt.Errorf("%q is no row: want quantity{labels} value", text)
	}
	set, err := parser.NewParser(parser.Options{}).ParseMetric(series + "}")
	if err != nil {
		return query.Row{}, err
	}
	i := slices.IndexFunc(query.All(), func(q query.Quantity) bool { return q.String() == set.Get(model.MetricNameLabel) })
	if i < 0 {
		return query.Row{}, fmt.Errorf("%q is no quantity", set.Get(model.MetricNameLabel))
	}
	row := query.Row{
		Quantity: query.Quantity(i), Namespace: set.Get("namespace"), Pod: set.Get("pod"), Model: set.Get("model"), Job: set.Get("job"),
		Instance: set.Get("instance"),
	}
	if row.Quantity == query.PageTime {
		row.ByPodName = set.Get("pod_name") != ""
		row.Pod = cmp.Or(row.Pod, set.Get("pod_name"))
		row.Witness = cmp.Or(set.Get("witness"), query.VLLM.Witness())
	}
	if bound := set.Get("bound"); bound != "" {
		if row.Bound, err = strconv.ParseFloat(bound, 64); err != nil {
			return query.Row{}, err
		}
	}
	row.Value, err = readValue(row.Quantity.Unit(), value)
	return row, err
}

// readValue evaluates the working of an expected value.
func readValue(unit query.Unit, text string) (float64, error) {
	switch {
	case unit == query.UnixSeconds:
		d, err := time.ParseDuration(text)
		return d.Seconds(), err
	case text == "NaN":
		return math.NaN(), nil
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || v.Value == nil {
		return 0, fmt.Errorf("%q is no constant: %w", text, err)
	}
	f, _ := constant.Float64Val(constant.ToFloat(v.Value))
	return f, nil
}

// write puts the series of s into the store, the scenario beginning at an
// instant.
func (s scenario) write(t *testing.T, into *store.Store, begin time.Time) {
	t.Helper()
	var all []store.Series
	for _, l := range s.series {
		one := store.Series{Labels: l.labels}
		for i, v := range l.values {
			if !v.Omitted {
				one.Samples = append(one.Samples, store.Sample{At: begin.Add(time.Duration(i) * l.interval), Value: v.Value})
			}
		}
		all = append(all, one)
	}
	if err := into.Write(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

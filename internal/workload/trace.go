package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxArrival limits arrival times in a trace, in seconds: 31 years, a tenth of the range of
// time.Duration.
const maxArrival = 1e9

// TraceOptions are the options of ReadTrace. The zero value reads a trace unchanged.
type TraceOptions struct {
	// TimeScale divides arrival times: 2 replays twice as fast. 0 means 1.
	TimeScale float64
}

// TraceError reports an error in a trace.
type TraceError struct {
	Line    int    // 1-based line of the file
	Problem string // what is wrong with it
}

// Error implements error.
func (e *TraceError) Error() string { return fmt.Sprintf("trace, line %d: %s", e.Line, e.Problem) }

// ReadTrace streams the requests of a CSV. Its first line names the columns:
// arrival_s (seconds since the start, >= 0, not decreasing), input_tokens and
// output_tokens (whole numbers >= 1), in any order; further columns are ignored.
//
// The sequence ends with the first error: a *TraceError, or an error of r. The last line needs no
// line break (RFC 4180), so a file cut inside its last number reads as a smaller number; a file cut
// anywhere else is an error.
func ReadTrace(r io.Reader, options TraceOptions) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		scale := options.TimeScale
		if scale == 0 {
			scale = 1
		}
		if !(scale > 0) || math.IsInf(scale, 1) {
			yield(Request{}, fmt.Errorf("the time scale %s is not positive and finite", number(scale)))
			return
		}
		t, err := openTrace(r)
		for err == nil {
			var request Request
			request, err = t.next(scale)
			if err == nil && !yield(request, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(Request{}, err)
		}
	}
}

// trace is an open trace, after its header.
type trace struct {
	source                 *lastByte
	rows                   *csv.Reader
	columns                int // in the header
	arrival, input, output int // their columns
	line                   int // of the row read last
	last                   float64
}

func openTrace(r io.Reader) (*trace, error) {
	source := &lastByte{reader: r}
	t := &trace{source: source, rows: csv.NewReader(source)}
	t.rows.FieldsPerRecord = -1 // next reports the error in our words
	t.rows.ReuseRecord = true
	header, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, &TraceError{Line: 1, Problem: "the trace is empty, want the header arrival_s,input_tokens,output_tokens"}
	}
	if err != nil {
		return nil, err
	}
	t.columns = len(header)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for name, column := range map[string]*int{"arrival_s": &t.arrival, "input_tokens": &t.input, "output_tokens": &t.output} {
		*column = slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == name })
	}
	if t.arrival < 0 || t.input < 0 || t.output < 0 {
		return nil, &TraceError{Line: t.line, Problem: fmt.Sprintf("the header is %q, want the columns arrival_s, input_tokens and output_tokens", strings.Join(header, ","))}
	}
	return t, nil
}

// read returns the next row and sets its line.
func (t *trace) read() ([]string, error) {
	row, err := t.rows.Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, t.wrong(parse.StartLine, parse.Err.Error())
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading the trace after line %d: %w", t.line, err)
	}
	t.line, _ = t.rows.FieldPos(0)
	return row, nil
}

func (t *trace) next(scale float64) (Request, error) {
	row, err := t.read()
	if err != nil {
		return Request{}, err
	}
	if len(row) != t.columns {
		return Request{}, t.wrong(t.line, fmt.Sprintf("%d columns, want %d as in the header", len(row), t.columns))
	}
	at, err := strconv.ParseFloat(strings.TrimSpace(row[t.arrival]), 64)
	switch {
	case err != nil || math.IsNaN(at):
		return Request{}, t.wrong(t.line, fmt.Sprintf("arrival_s %q is not a number", row[t.arrival]))
	case at < 0 || at > maxArrival || at/scale > maxArrival:
		return Request{}, t.wrong(t.line, fmt.Sprintf("arrival_s %s is not in [0, %s] seconds", row[t.arrival], number(maxArrival*min(1, scale))))
	case at < t.last:
		return Request{}, t.wrong(t.line, fmt.Sprintf("arrival_s %s is before the previous line's %s", row[t.arrival], number(t.last)))
	}
	t.last = at
	input, err := t.tokens("input_tokens", row[t.input])
	if err != nil {
		return Request{}, err
	}
	output, err := t.tokens("output_tokens", row[t.output])
	if err != nil {
		return Request{}, err
	}
	return Request{At: time.Duration(at / scale * float64(time.Second)), InputTokens: input, OutputTokens: output}, nil
}

func (t *trace) tokens(column, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, t.wrong(t.line, fmt.Sprintf("%s %q is not a whole number", column, text))
	}
	if n < 1 || n > MaxTokens {
		return 0, t.wrong(t.line, fmt.Sprintf("%s %d is not in [1, %d]", column, n, MaxTokens))
	}
	return n, nil
}

// wrong returns the error for a line. It adds a note where the line is the last and lacks its line
// break.
func (t *trace) wrong(line int, problem string) error {
	if t.source.cutAt(t.rows.InputOffset()) {
		problem += " (the file ends within this line: it is truncated)"
	}
	return &TraceError{Line: line, Problem: problem}
}

// lastByte is a reader that remembers how its input ends.
type lastByte struct {
	reader io.Reader
	size   int64 // bytes read so far
	last   byte
	ended  bool
}

// Read implements io.Reader.
func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	if n > 0 {
		l.size += int64(n)
		l.last = p[n-1]
	}
	l.ended = l.ended || errors.Is(err, io.EOF)
	return n, err
}

// cutAt reports whether the input ended at offset without a line break.
func (l *lastByte) cutAt(offset int64) bool {
	return l.ended && offset >= l.size && l.last != '\n'
}

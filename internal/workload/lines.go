package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// longestLine limits a line of JSON, in bytes. The ids of the 20,000 blocks of 512 tokens in a
// prompt of ten million tokens take a fifth of it.
const longestLine = 1 << 20

// lines reads a log with one JSON object on each line.
type lines struct {
	scanner *bufio.Scanner
	options LogOptions
	line    int
}

func openLines(source io.Reader, o LogOptions) *lines {
	l := &lines{scanner: bufio.NewScanner(source), options: o}
	l.scanner.Buffer(make([]byte, 0, 64<<10), longestLine)
	return l
}

// mooncakeLine holds the used fields of a line, without hash_ids.
type mooncakeLine struct {
	Timestamp    *float64 `json:"timestamp"` // ms
	InputLength  *float64 `json:"input_length"`
	OutputLength *float64 `json:"output_length"`
}

func (l *lines) next() (entry, error) {
	for l.scanner.Scan() {
		l.line++
		text := bytes.TrimSpace(l.scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		return l.read(text)
	}
	err := l.scanner.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return entry{}, &LogError{l.options.File, l.line + 1, "the line", "too long", fmt.Sprintf("at most %d bytes", longestLine)}
	case err != nil:
		return entry{}, fmt.Errorf("reading %s after line %d: %w", l.options.File, l.line, err)
	}
	return entry{}, io.EOF
}

func (l *lines) read(text []byte) (entry, error) {
	var one mooncakeLine
	if err := json.Unmarshal(text, &one); err != nil {
		found := fmt.Sprintf("%.60q", text)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return entry{}, &LogError{l.options.File, l.line, wrong.Field, "a " + wrong.Value, "a number"}
		}
		return entry{}, &LogError{l.options.File, l.line, "", found, "an object of JSON on the line"}
	}
	e := entry{line: l.line}
	if one.Timestamp == nil || !(*one.Timestamp >= 0) {
		return entry{}, &LogError{l.options.File, l.line, "timestamp", shown(one.Timestamp), "a number of ms, 0 or more"}
	}
	e.at = *one.Timestamp / 1000
	for _, f := range []struct {
		name  string
		value *float64
		to    *int
	}{{"input_length", one.InputLength, &e.input}, {"output_length", one.OutputLength, &e.output}} {
		if f.value == nil || !(*f.value >= 0 && *f.value <= MaxTokens) || *f.value != math.Trunc(*f.value) {
			return entry{}, &LogError{l.options.File, l.line, f.name, shown(f.value), fmt.Sprintf("a whole number of tokens in [0, %d]", MaxTokens)}
		}
		*f.to = int(*f.value)
	}
	return e, nil
}

// shown returns a number as text, or "missing".
func shown(v *float64) string {
	if v == nil {
		return "missing"
	}
	return number(*v)
}

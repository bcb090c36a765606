package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tableColumns are the columns of a CSV format.
type tableColumns struct {
	at, input, output string
	model             string // "" where there is none
	seconds           func(text string) (float64, error)
	times             string // the accepted text of seconds, for errors
}

func azureColumns() tableColumns {
	return tableColumns{
		at: "TIMESTAMP", input: "ContextTokens", output: "GeneratedTokens",
		seconds: calendarSeconds, times: "a time such as 2023-11-16 18:15:46.6805900",
	}
}

func burstGPTColumns() tableColumns {
	return tableColumns{
		at: "Timestamp", input: "Request tokens", output: "Response tokens", model: "Model",
		seconds: plainSeconds, times: "a number of seconds, 0 or more",
	}
}

// calendarSeconds reads the times of the Azure traces, with decimals: those of 2023 without a time
// zone, those of 2024 with one.
func calendarSeconds(text string) (float64, error) {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
		}
	}
	return 0, errors.New("not a time")
}

func plainSeconds(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 1) {
		return 0, errors.New("not a number of seconds")
	}
	return v, nil
}

// table reads a CSV log after its header.
type table struct {
	rows                     *csv.Reader
	options                  LogOptions
	columns                  tableColumns
	width                    int
	at, input, output, model int // -1 where there is none
	line                     int
}

func openTable(source io.Reader, o LogOptions, columns tableColumns) (*table, error) {
	t := &table{rows: csv.NewReader(source), options: o, columns: columns}
	t.rows.FieldsPerRecord = -1
	t.rows.ReuseRecord = true
	header, err := t.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
	}
	t.width = len(names)
	find := func(name string) int { return slices.Index(names, name) }
	t.at, t.input, t.output, t.model = find(columns.at), find(columns.input), find(columns.output), -1
	if o.Model != "" {
		t.model = find(columns.model)
	}
	wanted := []string{columns.at, columns.input, columns.output}
	if columns.model != "" {
		wanted = slices.Insert(wanted, 1, columns.model)
	}
	if t.at < 0 || t.input < 0 || t.output < 0 || o.Model != "" && t.model < 0 {
		return nil, &LogError{o.File, 1, "the header", strconv.Quote(strings.Join(names, ",")), "the columns " + strings.Join(wanted, ", ")}
	}
	return t, nil
}

func (t *table) read() ([]string, error) {
	row, err := t.rows.Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, &LogError{t.options.File, parse.StartLine, "", parse.Err.Error(), "a line of CSV"}
	}
	if err == nil {
		t.line, _ = t.rows.FieldPos(0)
		return row, nil
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return nil, fmt.Errorf("reading %s after line %d: %w", t.options.File, t.line, err)
}

func (t *table) next() (entry, error) {
	row, err := t.read()
	if err != nil {
		return entry{}, err
	}
	if len(row) != t.width {
		return entry{}, &LogError{t.options.File, t.line, "", fmt.Sprintf("%d columns", len(row)), fmt.Sprintf("%d as in the header", t.width)}
	}
	e := entry{line: t.line, other: t.model >= 0 && strings.TrimSpace(row[t.model]) != t.options.Model}
	text := strings.TrimSpace(row[t.at])
	if e.at, err = t.columns.seconds(text); err != nil {
		return entry{}, &LogError{t.options.File, t.line, t.columns.at, strconv.Quote(text), t.columns.times}
	}
	if e.input, err = t.tokens(t.columns.input, row[t.input]); err != nil {
		return entry{}, err
	}
	if e.output, err = t.tokens(t.columns.output, row[t.output]); err != nil {
		return entry{}, err
	}
	return e, nil
}

func (t *table) tokens(field, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > MaxTokens {
		return 0, &LogError{t.options.File, t.line, field, strconv.Quote(text), fmt.Sprintf("a whole number of tokens in [0, %d]", MaxTokens)}
	}
	return n, nil
}

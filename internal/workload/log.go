package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"
)

// Format is a public format of request logs.
type Format string

// The formats. With Unrecognized, the zero value, ReadLog recognizes the format by the first line.
const (
	Unrecognized Format = ""
	// Plain is the format of ReadTrace: arrival_s, input_tokens, output_tokens.
	Plain Format = "plain"
	// Azure is the format of the Azure LLM inference traces of 2023 and 2024 (Azure PublicDataset):
	// TIMESTAMP, ContextTokens, GeneratedTokens.
	Azure Format = "azure"
	// BurstGPT is the format of BurstGPT (HPMLL): Timestamp [s], Model, Request tokens, Response
	// tokens, Total tokens, Log Type.
	BurstGPT Format = "burstgpt"
	// Mooncake is the format of Mooncake (kvcache-ai), lines of JSON: timestamp [ms], input_length,
	// output_length, hash_ids.
	Mooncake Format = "mooncake"
)

// LogOptions are the options of ReadLog. The zero value recognizes the format and reads all
// requests unchanged.
type LogOptions struct {
	File      string  // name in errors; "" means standard input
	Format    Format  // of the log
	TimeScale float64 // divides arrival times: 2 replays twice as fast; 0 means 1
	// Model keeps the requests of one model of a BurstGPT log. "" keeps all.
	Model string
	// Skipped receives the line of every request without an input or an answer: in logs
	// such a request failed, and its cost is unknown. It may be nil.
	Skipped func(line int)
}

// LogError reports an error in a log.
type LogError struct {
	File  string
	Line  int    // 1-based
	Field string // "" where the whole line is wrong
	Found string
	Want  string
}

// Error implements error.
func (e *LogError) Error() string {
	field := ""
	if e.Field != "" {
		field = e.Field + " is "
	}
	const longest = 80 // bytes
	found := e.Found
	if len(found) > longest {
		found = found[:longest] + "…"
	}
	return fmt.Sprintf("%s, line %d: %s%s, want %s", e.File, e.Line, field, found, e.Want)
}

// entry is one line of a log.
type entry struct {
	line          int
	at            float64 // seconds, from any origin
	input, output int
	other         bool // of another model than LogOptions.Model
}

// log reads a log after its header. next returns io.EOF after the last entry.
type log interface{ next() (entry, error) }

// ReadLog streams the requests of a log in one of the public formats, the first at time 0. Plain
// logs keep their own start. The sequence ends with the first error: a *LogError, a *TraceError
// wrapped with the file, or an error of r.
func ReadLog(r io.Reader, o LogOptions) iter.Seq2[Request, error] {
	if o.File == "" {
		o.File = "standard input"
	}
	if o.TimeScale == 0 {
		o.TimeScale = 1
	}
	if o.Skipped == nil {
		o.Skipped = func(int) {}
	}
	return func(yield func(Request, error) bool) {
		if !(o.TimeScale > 0) || math.IsInf(o.TimeScale, 1) {
			yield(Request{}, fmt.Errorf("reading %s: the time scale %s is not positive and finite", o.File, number(o.TimeScale)))
			return
		}
		source := bufio.NewReaderSize(r, 64<<10)
		format, err := recognize(source, o)
		if err != nil {
			yield(Request{}, err)
			return
		}
		if format == Plain {
			readPlain(source, o, yield)
			return
		}
		l, err := openLog(source, format, o)
		if err == nil {
			err = readEntries(l, o, yield)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			yield(Request{}, err)
		}
	}
}

// recognize returns o.Format, or the format of a log by its first line, which it leaves unread.
func recognize(source *bufio.Reader, o LogOptions) (Format, error) {
	switch o.Format {
	case Plain, Azure, BurstGPT, Mooncake:
		return o.Format, nil
	case Unrecognized:
	default:
		return "", fmt.Errorf("reading %s: the format %q is not known, want plain, azure, burstgpt or mooncake", o.File, string(o.Format))
	}
	head, err := source.Peek(4 << 10)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading %s: %w", o.File, err)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(head), "\ufeff"), "\n")
	first = strings.TrimSpace(first)
	columns := map[string]bool{}
	for name := range strings.SplitSeq(first, ",") {
		columns[strings.Trim(strings.TrimSpace(name), `"`)] = true
	}
	switch {
	case strings.HasPrefix(first, "{"):
		return Mooncake, nil
	case columns["arrival_s"]:
		return Plain, nil
	case columns["TIMESTAMP"]:
		return Azure, nil
	case columns["Timestamp"]:
		return BurstGPT, nil
	}
	return "", &LogError{
		File: o.File, Line: 1, Found: fmt.Sprintf("%.100q", first),
		Want: "the header of a plain (arrival_s), azure (TIMESTAMP) or burstgpt (Timestamp) log, or a line of JSON of a mooncake one",
	}
}

// openLog reads the header and returns the rest of the log.
func openLog(source io.Reader, format Format, o LogOptions) (log, error) {
	switch format {
	case Azure:
		return openTable(source, o, azureColumns())
	case BurstGPT:
		return openTable(source, o, burstGPTColumns())
	default:
		return openLines(source, o), nil
	}
}

func readPlain(source io.Reader, o LogOptions, yield func(Request, error) bool) {
	for request, err := range ReadTrace(source, TraceOptions{TimeScale: o.TimeScale}) {
		if err != nil {
			err = fmt.Errorf("reading %s: %w", o.File, err)
		}
		if !yield(request, err) {
			return
		}
	}
}

// readEntries yields the entries of l as requests, up to the first error.
func readEntries(l log, o LogOptions, yield func(Request, error) bool) error {
	start, last := math.NaN(), math.Inf(-1)
	for {
		e, err := l.next()
		if err != nil {
			return err
		}
		if e.at < last {
			return &LogError{o.File, e.line, "the time", number(e.at) + " s", "no less than the " + number(last) + " s of the line before it"}
		}
		last = e.at
		if e.other {
			continue
		}
		if e.input == 0 || e.output == 0 {
			o.Skipped(e.line)
			continue
		}
		if math.IsNaN(start) {
			start = e.at
		}
		at := (e.at - start) / o.TimeScale
		if at > maxArrival {
			return &LogError{o.File, e.line, "the time", number(at) + " s after the first", number(maxArrival) + " s at most"}
		}
		if !yield(Request{At: time.Duration(at * float64(time.Second)), InputTokens: e.input, OutputTokens: e.output}, nil) {
			return io.EOF
		}
	}
}

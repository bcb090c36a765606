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

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// RateOptions are the options of ReadRates. The zero value reads the whole curve unchanged.
type RateOptions struct {
	File string        // name in errors; "" means standard input
	Peak float64       // requests/s to which the highest rate is scaled; 0 leaves the rates unchanged
	Take time.Duration // from the start; 0 takes all
}

// ReadRates reads a CSV with the columns window_start_s (from 0, equally far
// apart) and requests_per_s (>= 0) as a Poisson process whose rate is constant
// within each window. An error about the content is a *LogError.
func ReadRates(r io.Reader, o RateOptions) (Profile, error) {
	if o.File == "" {
		o.File = "standard input"
	}
	if !(o.Peak >= 0 && o.Peak <= maxRate) || o.Take < 0 {
		return Profile{}, fmt.Errorf("reading %s: a peak of %s requests/s over %s, want a peak in [0, %s] and 0 or more of time", o.File, number(o.Peak), o.Take, number(maxRate))
	}
	windows, err := readWindows(r, o)
	if err != nil {
		return Profile{}, err
	}
	highest := 0.0
	for _, rate := range windows.rates {
		highest = max(highest, rate)
	}
	scale := 1.0
	if o.Peak > 0 && highest > 0 {
		scale = o.Peak / highest
	}
	var p Profile
	for _, rate := range windows.rates {
		s := Constant{Rate: rate * scale, Duration: windows.length}
		if err := s.check(); err != nil {
			return Profile{}, fmt.Errorf("reading %s: %w", o.File, err)
		}
		p.segments = append(p.segments, s)
	}
	if total := time.Duration(len(p.segments)) * windows.length; total > maxDuration {
		return Profile{}, fmt.Errorf("reading %s: it spans %s, want at most %s", o.File, spelling.Duration(total), spelling.Duration(maxDuration))
	}
	return p, nil
}

// rateWindows holds the rates of windows of one length.
type rateWindows struct {
	length time.Duration
	rates  []float64 // requests/s
}

func readWindows(r io.Reader, o RateOptions) (rateWindows, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	at, rate, err := rateColumns(rows, o.File)
	if err != nil {
		return rateWindows{}, err
	}
	var w rateWindows
	for n := 0; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rateWindows{}, fmt.Errorf("reading %s: %w", o.File, err)
		}
		line, _ := rows.FieldPos(0)
		start, value, err := readWindow(row[at], row[rate], o.File, line)
		if err != nil {
			return rateWindows{}, err
		}
		if n == 1 {
			w.length = start
		}
		if want := time.Duration(n) * w.length; start != want || n > 0 && w.length <= 0 {
			return rateWindows{}, &LogError{o.File, line, "window_start_s", row[at], "windows of one length from 0 on: " + number(want.Seconds())}
		}
		if o.Take > 0 && n > 0 && start >= o.Take {
			break
		}
		w.rates = append(w.rates, value)
	}
	if w.length == 0 {
		return rateWindows{}, &LogError{o.File, 1, "the curve", fmt.Sprintf("%d windows long", len(w.rates)), "two or more"}
	}
	return w, nil
}

// rateColumns returns the indices of the columns in the header.
func rateColumns(rows *csv.Reader, file string) (at, rate int, err error) {
	header, err := rows.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("reading %s: %w", file, err)
	}
	at, rate = slices.Index(header, "window_start_s"), slices.Index(header, "requests_per_s")
	if at < 0 || rate < 0 {
		return 0, 0, &LogError{file, 1, "the header", strconv.Quote(strings.Join(header, ",")), "the columns window_start_s and requests_per_s"}
	}
	return at, rate, nil
}

// readWindow returns the start of a window and its rate [requests/s].
func readWindow(at, rate, file string, line int) (time.Duration, float64, error) {
	start, err := plainSeconds(at)
	if err != nil || start > maxArrival {
		return 0, 0, &LogError{file, line, "window_start_s", strconv.Quote(at), "a number of seconds, 0 or more"}
	}
	value, err := strconv.ParseFloat(rate, 64)
	if err != nil || !(value >= 0 && value <= maxRate) {
		return 0, 0, &LogError{file, line, "requests_per_s", strconv.Quote(rate), fmt.Sprintf("a rate in [0, %s]", number(maxRate))}
	}
	return time.Duration(math.Round(start * float64(time.Second))), value, nil
}

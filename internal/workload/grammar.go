package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// maxProfileText limits the text of a profile, in bytes.
const maxProfileText = 64 << 10

// SyntaxError reports an error in the text of a profile.
type SyntaxError struct {
	Column  int    // 1-based byte position in the text
	Problem string // what was found and what was wanted
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("column %d: %s", e.Column, e.Problem)
}

// ParseProfile reads a profile in this grammar; spaces between its parts are
// ignored:
//
//	profile  = segment *( "," segment )
//	segment  = "constant(" rate "," duration ")"
//	         | "ramp(" rate "->" rate "," duration ")"
//	         | "step(" rate "->" rate "," at "," duration ")"
//	         | "sine(" rate "->" rate "," period "," duration ")"
//	         | "onoff(" rate "," on "," off "," duration ")"
//	         | "flash(" rate "->" rate "," at "," decay "," duration ")"
//	         | "gamma(" rate "," duration "," "cv=" number ")"
//	rate     = number                ; requests/s, 0 to 1e6
//	duration = a Go duration         ; "90s", "1m30s", "1.5h"
//
// An error is a *SyntaxError.
func ParseProfile(text string) (Profile, error) {
	if len(text) > maxProfileText {
		return Profile{}, &SyntaxError{Column: maxProfileText + 1, Problem: "the profile is too long"}
	}
	var segments []Segment
	var total time.Duration
	for rest := 0; ; {
		call, err := scanCall(text, rest)
		if err != nil {
			return Profile{}, err
		}
		s, err := call.segment()
		if err != nil {
			return Profile{}, err
		}
		total += s.Length()
		if total > maxDuration {
			return Profile{}, call.name.wrong("the profile is longer than %s", spelling.Duration(maxDuration))
		}
		segments = append(segments, s)
		if call.end == len(text) {
			return Profile{segments: segments}, nil
		}
		if text[call.end] != ',' {
			return Profile{}, &SyntaxError{Column: call.end + 1, Problem: fmt.Sprintf("found %q, want a comma or the end", text[call.end:call.end+1])}
		}
		rest = call.end + 1
	}
}

// word is a part of the text and its place.
type word struct {
	text  string
	place int // 0-based
}

// scannedCall is name(arguments); end is the place after it.
type scannedCall struct {
	name      word
	arguments []word
	end       int
}

// scanCall reads one call that begins at place from.
func scanCall(text string, from int) (scannedCall, error) {
	name, open := scanUntil(text, from, "(),")
	if open == len(text) || text[open] != '(' {
		return scannedCall{}, name.wrong("found %q, want a segment such as constant(8,60s)", name.text)
	}
	call := scannedCall{name: name}
	for at := open; text[at] != ')'; {
		var w word
		w, at = scanUntil(text, at+1, "(),")
		if at == len(text) {
			return scannedCall{}, &SyntaxError{Column: at + 1, Problem: fmt.Sprintf("%s( is not closed, want )", name.text)}
		}
		if text[at] == '(' {
			return scannedCall{}, &SyntaxError{Column: at + 1, Problem: "found \"(\", want a comma or )"}
		}
		call.arguments = append(call.arguments, w)
		call.end = at + 1
	}
	call.end += len(text[call.end:]) - len(strings.TrimLeft(text[call.end:], " \t"))
	return call, nil
}

// scanUntil reads up to a byte in stops or the end, and drops spaces around the word.
func scanUntil(text string, from int, stops string) (word, int) {
	end := len(text)
	if n := strings.IndexAny(text[from:], stops); n >= 0 {
		end = from + n
	}
	trimmed := strings.TrimLeft(text[from:end], " \t")
	place := end - len(trimmed)
	return word{text: strings.TrimRight(trimmed, " \t"), place: place}, end
}

func (w word) wrong(format string, arguments ...any) error {
	return &SyntaxError{Column: w.place + 1, Problem: fmt.Sprintf(format, arguments...)}
}

// segment returns the segment of that name and those arguments.
func (c scannedCall) segment() (Segment, error) {
	r := argumentReader{call: c}
	var s Segment
	switch c.name.text {
	case "constant":
		r.usage = "constant(RATE,DURATION)"
		s = Constant{Rate: r.number(0), Duration: r.duration(1)}
	case "ramp":
		r.usage = "ramp(FROM->TO,DURATION)"
		from, to := r.rates()
		s = Ramp{From: from, To: to, Duration: r.duration(1)}
	case "step":
		r.usage = "step(FROM->TO,AT,DURATION)"
		from, to := r.rates()
		s = Step{From: from, To: to, At: r.duration(1), Duration: r.duration(2)}
	case "sine":
		r.usage = "sine(LOW->HIGH,PERIOD,DURATION)"
		low, high := r.rates()
		s = Sine{Low: low, High: high, Period: r.duration(1), Duration: r.duration(2)}
	case "onoff":
		r.usage = "onoff(RATE,ON,OFF,DURATION)"
		s = OnOff{Rate: r.number(0), On: r.duration(1), Off: r.duration(2), Duration: r.duration(3)}
	case "flash":
		r.usage = "flash(LOW->HIGH,AT,DECAY,DURATION)"
		low, high := r.rates()
		s = Flash{Low: low, High: high, At: r.duration(1), Decay: r.duration(2), Duration: r.duration(3)}
	case "gamma":
		r.usage = "gamma(RATE,DURATION,cv=CV)"
		s = Gamma{Rate: r.number(0), Duration: r.duration(1), CV: r.named("cv", 2)}
	default:
		return nil, c.name.wrong("%q is not a segment, want constant, ramp, step, sine, onoff, flash or gamma", c.name.text)
	}
	if r.err == nil && len(c.arguments) > r.used {
		r.err = c.arguments[r.used].wrong("found %q, want %s", c.arguments[r.used].text, r.usage)
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := s.check(); err != nil {
		return nil, c.name.wrong("%s: %v", c.name.text, err)
	}
	return s, nil
}

// argumentReader reads the arguments of one call and keeps its first error.
type argumentReader struct {
	call  scannedCall
	usage string
	used  int // arguments that were asked for
	err   error
}

func (r *argumentReader) word(i int) (word, bool) {
	r.used = max(r.used, i+1)
	if r.err == nil && i >= len(r.call.arguments) {
		r.err = r.call.name.wrong("%s has too few arguments, want %s", r.call.name.text, r.usage)
	}
	if r.err != nil {
		return word{}, false
	}
	return r.call.arguments[i], true
}

func (r *argumentReader) number(i int) float64 {
	w, ok := r.word(i)
	if !ok {
		return 0
	}
	return r.parse(w, w.text)
}

// rates reads the first argument, two rates with an arrow between them.
func (r *argumentReader) rates() (from, to float64) {
	w, ok := r.word(0)
	if !ok {
		return 0, 0
	}
	left, right, found := strings.Cut(w.text, "->")
	if !found {
		r.err = w.wrong("found %q, want two rates such as 0.5->8 in %s", w.text, r.usage)
		return 0, 0
	}
	return r.parse(w, strings.TrimSpace(left)), r.parse(w, strings.TrimSpace(right))
}

func (r *argumentReader) named(name string, i int) float64 {
	w, ok := r.word(i)
	if !ok {
		return 0
	}
	key, value, found := strings.Cut(w.text, "=")
	if !found || strings.TrimSpace(key) != name {
		r.err = w.wrong("found %q, want %s=NUMBER in %s", w.text, name, r.usage)
		return 0
	}
	return r.parse(w, strings.TrimSpace(value))
}

func (r *argumentReader) parse(w word, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && r.err == nil {
		r.err = w.wrong("%q is not a number, want %s", text, r.usage)
	}
	return v
}

func (r *argumentReader) duration(i int) time.Duration {
	w, ok := r.word(i)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(w.text)
	if err != nil {
		r.err = w.wrong("%q is not a duration such as 90s or 1m30s, want %s", w.text, r.usage)
	}
	return d
}

func call(name string, arguments ...string) string {
	return name + "(" + strings.Join(arguments, ",") + ")"
}

func arrow(from, to float64) string { return number(from) + "->" + number(to) }

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build event
	Test       string
	Output     string
}

// output is a line printed by a test, or by a package if test is empty.
type output struct{ test, text string }

// report turns events into the output of go test without -json.
type report struct {
	mu      sync.Mutex
	w       io.Writer
	verbose bool
	printed bool                // since the last nag
	running map[string][]output // by package
	ended   map[string]bool     // tests that passed or were skipped, by package and name
	skipped map[string]int      // by reason
}

func newReport(w io.Writer, verbose bool) *report {
	return &report{
		w: w, verbose: verbose,
		running: map[string][]output{}, ended: map[string]bool{}, skipped: map[string]int{},
	}
}

// line takes one line of the output of go test -json.
func (r *report) line(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		r.print(string(line))
		return
	}
	switch e.Action {
	case "start":
		r.running[e.Package] = nil
	case "build-output":
		r.print(e.Output)
	case "output":
		r.running[e.Package] = append(r.running[e.Package], output{e.Test, e.Output})
		if r.verbose {
			r.print(e.Output)
		}
	case "pass", "skip", "fail":
		r.end(e)
	}
}

// end takes the result of a test, or of a package.
func (r *report) end(e event) {
	key := func(test string) string { return e.Package + " " + test }
	if e.Test != "" {
		r.ended[key(e.Test)] = e.Action != "fail"
		if e.Action == "skip" {
			r.skipped[reason(r.running[e.Package], e.Test)]++
		}
		return
	}
	for _, out := range r.running[e.Package] {
		switch {
		case r.verbose || noise(out.text):
		case out.test == "":
			r.print(out.text)
		case e.Action == "fail" && !r.ended[key(out.test)]:
			r.print(out.text)
		}
	}
	delete(r.running, e.Package)
}

// noise reports whether a line is one that go test prints only with -v, or one without information.
func noise(text string) bool {
	for _, prefix := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "=== ATTR"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return text == "PASS\n" || strings.HasSuffix(text, "[no test files]\n")
}

var logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason returns the last message of a skipped test.
func reason(outs []output, test string) string {
	why := "no reason given"
	for _, out := range outs {
		if m := logLine.FindStringSubmatch(out.text); m != nil && out.test == test {
			why = strings.TrimSpace(m[1])
		}
	}
	return why
}

func (r *report) print(text string) {
	r.printed = true
	fmt.Fprint(r.w, text)
	if !strings.HasSuffix(text, "\n") && !r.verbose {
		fmt.Fprintln(r.w)
	}
}

// nag prints which packages are being tested, if nothing was printed since the last call.
func (r *report) nag() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.printed {
		under := "building"
		if len(r.running) > 0 {
			under = "testing " + strings.Join(slices.Sorted(maps.Keys(r.running)), ", ")
		}
		fmt.Fprintln(os.Stderr, "...", under)
	}
	r.printed = false
}

// summary prints how many tests were skipped, the commonest reason first.
func (r *report) summary() {
	total := 0
	var reasons []string
	byCount := func(a, b string) int { return cmp.Or(r.skipped[b]-r.skipped[a], strings.Compare(a, b)) }
	for _, why := range slices.SortedFunc(maps.Keys(r.skipped), byCount) {
		total += r.skipped[why]
		reasons = append(reasons, fmt.Sprintf("%s: %d", why, r.skipped[why]))
	}
	if total == 0 {
		fmt.Fprintln(r.w, "tests skipped: 0")
		return
	}
	fmt.Fprintf(r.w, "tests skipped: %d (%s)\n", total, strings.Join(reasons, "; "))
}

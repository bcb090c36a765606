package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 15 * time.Second
	// lineWidth keeps the refreshed line within a narrow terminal.
	lineWidth = 79
	// firstPhase is the work about which go prints nothing.
	firstPhase = "looking for what is built already, and linking"
)

// outcome is how a build ended.
type outcome int

const (
	failed outcome = iota
	unchanged
	built
)

// progress turns the messages of "go build -v" into a line for a person. It is safe for concurrent
// use.
type progress struct {
	out      io.Writer
	name     string // of the program
	begin    time.Time
	terminal bool

	mu       sync.Mutex
	all      int    // packages in the build, 0 until known
	compiled int    // packages that were not in the cache
	fetched  int    // modules downloaded
	phase    string // what go does now
	current  string // the package or module in that phase
	last     string // the package that is compiled last, "" until known
}

// newProgress returns the progress of building name, shown on out.
func newProgress(out *os.File, name string, begin time.Time) *progress {
	stat, err := out.Stat()
	terminal := err == nil && stat.Mode()&os.ModeCharDevice != 0
	return &progress{out: out, name: name, begin: begin, terminal: terminal, phase: firstPhase}
}

// every returns the interval in which show is to be called.
func (p *progress) every() time.Duration {
	if p.terminal {
		return terminalEvery
	}
	return plainEvery
}

// plan takes the packages of the build, in the order of their dependencies.
func (p *progress) plan(packages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = len(packages)
	if p.all > 0 {
		p.last = packages[p.all-1]
	}
}

// line takes one line of go's output: a module that it downloads, a package that it compiles, or a
// message, which line passes on.
func (p *progress) line(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	module, downloading := strings.CutPrefix(line, "go: downloading ")
	switch {
	case downloading:
		p.fetched++
		p.phase, p.current = "downloading", module
	case line != "" && !strings.ContainsAny(line, " \t:#"):
		p.compiled++
		p.phase, p.current = "compiling", line
	default:
		p.clear()
		fmt.Fprintln(p.out, line)
	}
}

// show writes the progress at now.
func (p *progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimSpace(p.phase + " " + p.current)
	if p.last != "" && p.current == p.last {
		text = "linking " + p.name
	}
	elapsed := now.Sub(p.begin).Round(time.Second)
	var figures string
	switch {
	case p.phase == "downloading":
		figures = fmt.Sprintf(" module %d, %s", p.fetched, elapsed)
	case p.compiled > 0 && p.all > 0:
		figures = fmt.Sprintf(" %d/%d packages, %s", p.compiled, p.all, elapsed)
	case p.compiled > 0:
		figures = fmt.Sprintf(" %d packages, %s", p.compiled, elapsed)
	default:
		figures = fmt.Sprintf(", %s", elapsed)
	}
	if !p.terminal {
		fmt.Fprintln(p.out, text+figures)
		return
	}
	if room := lineWidth - len(figures); len(text) > room {
		text = text[:room-3] + "..."
	}
	p.clear()
	fmt.Fprint(p.out, text+figures)
}

// finish writes how the build ended at now.
func (p *progress) finish(end outcome, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	switch end {
	case failed: // go has printed the reason
	case unchanged:
		fmt.Fprintln(p.out, p.name, "is up to date")
	case built:
		fmt.Fprintf(p.out, "built %s in %s, %d packages compiled\n", p.name, now.Sub(p.begin).Round(100*time.Millisecond), p.compiled)
	}
}

func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
}

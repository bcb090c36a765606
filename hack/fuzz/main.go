// Command fuzz runs every fuzz test of this module for a time, one after another, and says how many
// inputs a second each tried.
//
// Usage:
//
//	go run ./hack/fuzz [-time 30s] [-least 100] [-run REGEXP]
//
// It fails, after all have run, where a test finds something, and where a test tries fewer inputs a
// second than -least: such a test or its oracle is too slow to find anything.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	lasts := flag.Duration("time", 30*time.Second, "how long each fuzz test runs")
	least := flag.Float64("least", 100, "inputs a second that each has to try")
	only := flag.String("run", "", "regular expression of FOLDER:NAME of those to run")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: fuzz [-time 30s] [-least 100] [-run REGEXP]", err)
		return 2
	}
	targets, err := find(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return 1
	}
	var faults []string
	for _, t := range targets {
		if !chosen.MatchString(t.String()) {
			continue
		}
		rate, err := t.run(ctx, *lasts)
		switch {
		case ctx.Err() != nil:
			return 1
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s: %v", t, err))
		case rate < *least:
			faults = append(faults, fmt.Sprintf("%s: %.0f inputs a second, want at least %g", t, rate, *least))
		default:
			fmt.Printf("%s: %.0f inputs a second\n", t, rate)
		}
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "fuzz:", f)
	}
	if len(faults) > 0 {
		return 1
	}
	return 0
}

// run runs a fuzz test and returns how many inputs a second it tried. What it found is on
// the standard output.
func (t target) run(ctx context.Context, lasts time.Duration) (rate float64, err error) {
	// Minimizing an input that is merely new takes a minute unless it is bounded.
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", lasts.String(), "-fuzzminimizetime", "100x", "./"+t.folder)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		_, _ = io.Copy(os.Stdout, &said)
		return 0, fmt.Errorf("see above: %w", err)
	}
	return rateOf(said.String())
}

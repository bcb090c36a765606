// Command gotest runs go test in several modules and reports like go test does,
// with one line more: how many tests were skipped, and why. A test that skips
// itself is easily taken for one that passed.
//
// Usage:
//
//	gotest [-v] [-m DIR]... [-plain DIR]... [-- GO-TEST-FLAGS PACKAGES]
//
// Modules given by -m run under the race detector where a C compiler is found;
// those given by -plain never do. Without -v a package's output is shown if it
// fails; with -v everything is shown as it comes. The exit status is 1 if any
// go test failed.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// quiet is the time without output after which a note names what is running.
const quiet = 30 * time.Second

// module is one directory to test.
type module struct {
	dir  string
	race bool
}

func main() {
	ok, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(args []string) (ok bool, err error) {
	var modules []module
	flags := flag.NewFlagSet("gotest", flag.ContinueOnError)
	verbose := flags.Bool("v", false, "show everything as it comes")
	flags.Func("m", "test the module in `DIR`, under the race detector where possible", func(dir string) error {
		modules = append(modules, module{dir, true})
		return nil
	})
	flags.Func("plain", "test the module in `DIR` without the race detector", func(dir string) error {
		modules = append(modules, module{dir, false})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if len(modules) == 0 {
		modules = []module{{".", true}}
	}
	testArgs := flags.Args()
	if len(testArgs) == 0 {
		testArgs = []string{"./..."}
	}

	race, why := false, ""
	for _, m := range modules {
		if m.race && why == "" {
			if race, why, err = raceDetector(); err != nil {
				return false, err
			}
			fmt.Println("race detector:", why)
		}
	}

	// An interrupt reaches go test too: wait until it ends by itself.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)

	r := newReport(os.Stdout, *verbose)
	ok = true
	for _, m := range modules {
		// go vet is left to the linters, which check more: here it would analyze every dependency
		// once more, all of Kubernetes.
		args := []string{"-C", m.dir, "test", "-vet=off", "-json"}
		// Without the race detector nothing needs C, and the packages from the builds of the
		// programs need not be compiled again.
		env := append(os.Environ(), "CGO_ENABLED=0")
		if m.race && race {
			args, env = append(args, "-race"), os.Environ()
		}
		passed, err := test(r, append(args, testArgs...), env)
		if err != nil {
			return false, err
		}
		ok = ok && passed
		select {
		case <-interrupts:
			return false, errors.New("interrupted: the modules that follow were not tested")
		default:
		}
	}
	r.summary()
	return ok, nil
}

// raceDetector reports whether go test -race works here, and the reason.
func raceDetector() (on bool, why string, err error) {
	out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	if err != nil {
		return false, "", fmt.Errorf("go env: %w", err)
	}
	cgo, cc, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	compiler, _, _ := strings.Cut(cc, " ")
	if path, _ := exec.LookPath(compiler); path == "" {
		return false, fmt.Sprintf("off, no C compiler (%s) found", compiler), nil
	}
	if cgo != "1" {
		return false, "off, CGO_ENABLED is 0", nil
	}
	return true, "on", nil
}

// test runs the go command and feeds its events to the report.
func test(r *report, args, env []string) (passed bool, err error) {
	cmd := exec.Command("go", args...)
	cmd.Env = env
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	done := make(chan struct{})
	go nag(r, done)
	readErr := read(r, out)
	close(done)

	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return false, err
	}
	return cmd.ProcessState.Success(), readErr
}

// nag prints what is running while nothing else is printed.
func nag(r *report, done <-chan struct{}) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			r.nag()
		}
	}
}

// read feeds the lines of go test -json to the report. The report prints lines that are no events
// as they are.
func read(r *report, in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading go test: %w", err)
		}
	}
}

// Command gobuild is "go build" for long builds: it says what it is doing, how far it is and what
// it built. A first build of a Kubernetes control plane takes some minutes, in which "go build"
// prints nothing.
//
// Usage:
//
//	go run ./hack/gobuild [-C dir] [-ldflags flags] -o OUT PKG
//
// Package paths are relative to the folder of -C, OUT is relative to the working directory. In a
// terminal one line is refreshed, elsewhere a line is printed every 15 seconds. Messages of the
// compiler are passed on, and the exit code is that of "go build". Unless CGO_ENABLED is set, the
// build needs no C compiler.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	os.Exit(run())
}

func run() int {
	dir := flag.String("C", ".", "folder of the package's module")
	out := flag.String("o", "", "file to write")
	ldflags := flag.String("ldflags", "-s -w", "flags for the linker; the default leaves debugging tables out")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		fmt.Fprintln(os.Stderr, "usage: gobuild [-C dir] [-ldflags flags] -o OUT PKG")
		return 2
	}
	target, err := filepath.Abs(*out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gobuild: resolving the output file:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := build{dir: *dir, pkg: flag.Arg(0), target: target, ldflags: *ldflags}
	begin, before := time.Now(), b.stat()
	p := newProgress(os.Stderr, *out, begin)
	err = b.run(ctx, p)
	end := built
	switch {
	case err != nil:
		end = failed
	case same(before, b.stat()):
		end = unchanged
	}
	p.finish(end, time.Now())
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "gobuild:", err)
	return 1
}

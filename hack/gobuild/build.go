package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// build is one call of "go build".
type build struct {
	dir     string // folder to call it in
	pkg     string
	target  string // absolute
	ldflags string
}

// run builds, and passes the output of go and the list of packages to p. The error is that of "go
// build".
func (b build) run(ctx context.Context, p *progress) error {
	command := b.command(ctx, "build", "-v", "-ldflags", b.ldflags, "-o", b.target, b.pkg)
	command.Stdout = os.Stdout
	messages, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("connecting to go build: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting go build: %w", err)
	}
	counting, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		// Without a count there is still progress to show, and go build reports the error.
		if list, err := b.command(counting, "list", "-deps", b.pkg).Output(); err == nil {
			p.plan(strings.Fields(string(list)))
		}
	})
	helpers.Go(func() {
		ticker := time.NewTicker(p.every())
		defer ticker.Stop()
		for {
			select {
			case <-counting.Done():
				return
			case now := <-ticker.C:
				p.show(now)
			}
		}
	})
	lines := bufio.NewScanner(messages)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.line(lines.Text())
	}
	err = command.Wait()
	stop()
	helpers.Wait()
	return err
}

func (b build) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = b.dir
	command.Env = os.Environ()
	if os.Getenv("CGO_ENABLED") == "" {
		command.Env = append(command.Env, "CGO_ENABLED=0")
	}
	// Let go remove its temporary files when it is interrupted.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	return command
}

// stat describes the target, nil if it is absent.
func (b build) stat() os.FileInfo {
	stat, err := os.Stat(b.target)
	if err != nil {
		return nil
	}
	return stat
}

// same reports whether go left the target alone. The time of the file does not show it, since go
// updates the time of a target that is up to date.
func same(before, after os.FileInfo) bool {
	return before != nil && after != nil && os.SameFile(before, after) && before.Size() == after.Size()
}

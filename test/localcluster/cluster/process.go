package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// stopPoll is how often stop checks whether a process has ended.
	stopPoll = 50 * time.Millisecond
	// stopWithin is how long a process may take to end before it is killed.
	stopWithin = 10 * time.Second
	// tailBytes and tailLines limit how much of a log is shown.
	tailBytes = 16 << 10
	tailLines = 15
)

// alive reports whether the recorded process still runs.
func (p Process) alive() bool {
	started, running := identity(p.PID)
	return running && started == p.StartTime
}

// launch starts a component as a process that outlives this one, in a session of its own and with
// its output in the log.
func launch(executable string, s spec, log string) (Process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, fmt.Errorf("opening the log of %s: %w", s.name, err)
	}
	defer output.Close()
	command := exec.Command(executable, append([]string{s.name}, s.args...)...)
	command.Env = s.environ()
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Process{}, fmt.Errorf("starting %s: %w", s.name, err)
	}
	started, running := identity(command.Process.Pid)
	// While this process runs, it has to reap the other; no other process waits for it.
	go func() { _ = command.Wait() }()
	if !running {
		return Process{}, fmt.Errorf("starting %s: it ended at once\n%s", s.name, tail(log))
	}
	return Process{Name: s.name, PID: command.Process.Pid, StartTime: started, Log: log}, nil
}

// stop ends the processes in reverse order of their start and waits for each. It kills a process
// that does not end in time. Only processes that are still the recorded ones get a signal.
func stop(ctx context.Context, processes []Process, out io.Writer) error {
	var errs []error
	for _, p := range slices.Backward(processes) {
		if !p.alive() {
			continue
		}
		fmt.Fprintln(out, "ending", p.Name)
		errs = append(errs, p.stop(ctx))
	}
	return errors.Join(errs...)
}

func (p Process) stop(ctx context.Context) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !p.alive() {
			return nil
		}
		if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending %s, process %d: %w", p.Name, p.PID, err)
		}
		ended, err := p.wait(ctx)
		if err != nil || ended {
			return err
		}
	}
	return fmt.Errorf("ending %s: process %d is still there", p.Name, p.PID)
}

func (p Process) wait(ctx context.Context) (ended bool, err error) {
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	ticker := time.NewTicker(stopPoll)
	defer ticker.Stop()
	for p.alive() {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("waiting for the end of %s: %w", p.Name, ctx.Err())
		case <-deadline.C:
			return false, nil
		case <-ticker.C:
		}
	}
	return true, nil
}

// tail returns the last lines of a log.
func tail(log string) string {
	file, err := os.Open(log)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	raw, err := io.ReadAll(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return "last lines of " + log + ":\n  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}

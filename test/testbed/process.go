package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a program that a Bed runs, with its output in a file.
type Process struct {
	Name string
	Log  string // path of the file with its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended, once done is closed
}

// start runs a program. It gets a process group of its own, so that Ctrl-C in a terminal reaches
// only the program that decides the order in which processes end.
func start(name, logDir, program string, args, env []string) (*Process, error) {
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &Process{Name: name, Log: filepath.Join(logDir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.Log)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		out.Close()
		close(p.done)
	}()
	return p, nil
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended, nil for success. Valid once Done is closed.
func (p *Process) Err() error { return p.err }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the process to end, waits, and kills it if it does not end.
func (p *Process) Stop() {
	const patience = 10 * time.Second
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended meanwhile
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Kill ends the process at once, as a failing machine does, and waits.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// Tail returns the last lines of the process's output.
func (p *Process) Tail() string {
	const most = 12
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// file waits until the process has written a file and returns its content.
func (p *Process) file(ctx context.Context, path string) (string, error) {
	var text string
	err := p.until(ctx, func() bool {
		data, err := os.ReadFile(path)
		text = strings.TrimSpace(string(data))
		return err == nil && text != ""
	})
	return text, err
}

// until waits for a condition while the process runs.
func (p *Process) until(ctx context.Context, ok func() bool) error {
	err := poll(ctx, func() (bool, error) {
		select {
		case <-p.done:
			return false, fmt.Errorf("%s ended early (%w); its last lines:\n%s", p.Name, cause(p.err), p.Tail())
		default:
			return ok(), nil
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not get ready: %w; its last lines:\n%s", p.Name, err, p.Tail())
	}
	return err
}

func cause(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// poll calls ok until it is true or fails, or ctx ends.
func poll(ctx context.Context, ok func() (bool, error)) error {
	const period = 100 * time.Millisecond
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// command runs a program to its end with its output on out.
func command(ctx context.Context, out io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return nil
}

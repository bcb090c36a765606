package container

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// pipesWithin limits how long the output of a process is read after its end: processes that it
// started may hold the output open.
const pipesWithin = 2 * time.Second

// starter starts processes from one thread, which lasts as long as this process:
// on Linux the kernel kills a process with the thread that started it.
type starter struct {
	calls chan func()
	// runAs is the command that calls RunAs; empty if processes have no hostname of their own. Only
	// the thread uses it.
	runAs []string
}

func newStarter(runAs []string) *starter {
	s := &starter{calls: make(chan func()), runAs: runAs}
	go func() {
		runtime.LockOSThread()
		for call := range s.calls {
			call()
		}
	}()
	return s
}

// process is a process that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at its end
	// asRunAs says that the process began as RunAs, with the arguments of cmd, and becomes its
	// program.
	asRunAs      bool
	beyondMemory atomic.Bool // confine has killed it
	ended
}

// ended is how a process ended.
type ended struct {
	at   time.Time
	code int // 128 + the signal's number after a signal
	// beyondMemory says that confine killed the process.
	beyondMemory bool
}

// start starts a process that writes to a log. It is killed when ctx ends, or when its memory
// exceeds memory bytes; 0 is no limit.
func (s *starter) start(ctx context.Context, c command, l *log, memory int64) (*process, error) {
	cmd, err := s.run(ctx, c, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = l.stream("stdout"), l.stream("stderr") })
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{}), asRunAs: cmd.Path != c.path}
	go p.wait()
	go p.confine(memory)
	return p, nil
}

// run starts a process that does not outlive this one and is killed when ctx ends. connect sets its
// streams.
func (s *starter) run(ctx context.Context, c command, connect func(*exec.Cmd)) (cmd *exec.Cmd, err error) {
	if _, err := exec.LookPath(c.path); err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	done := make(chan struct{})
	s.calls <- func() {
		defer close(done)
		if c.hostname != "" && len(s.runAs) > 0 {
			as := slices.Concat(s.runAs[1:], []string{c.hostname, c.path}, c.args)
			cmd = prepare(ctx, s.runAs[0], as, c, connect)
			ownHostname(cmd.SysProcAttr)
			if err = cmd.Start(); err == nil {
				return
			}
			fmt.Fprintln(os.Stderr, "this machine does not let processes have hostnames of their own:", err)
			s.runAs = nil
		}
		cmd = prepare(ctx, c.path, c.args, c, connect)
		err = cmd.Start()
	}
	<-done
	if err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	return cmd, nil
}

func prepare(ctx context.Context, path string, args []string, c command, connect func(*exec.Cmd)) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = pipesWithin
	connect(cmd)
	return cmd
}

// wait waits for the end of the process, which ends the container, and kills all that the process
// has started.
func (p *process) wait() {
	_ = p.cmd.Wait() // the error is in the state, or says that output was left
	_ = killGroup(p.cmd)
	p.ended = ended{at: time.Now(), code: exitCode(p.cmd), beyondMemory: p.beyondMemory.Load()}
	close(p.done)
}

// killGroup kills a process and all that it has started.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// exitCode returns the exit code of a command that has ended.
func exitCode(cmd *exec.Cmd) int {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// result waits for the end of the process and returns it.
func (p *process) result() ended {
	<-p.done
	return p.ended
}

// end asks the process to end, kills it when ctx is done, and waits for it.
func (p *process) end(ctx context.Context) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

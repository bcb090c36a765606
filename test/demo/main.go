// Command demo shows the autoscaler at work on one machine: a real control plane, an emulated
// serving fleet of two models, a load that rises and falls, and a table of what is decided and what
// becomes of it. make run builds and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

func main() {
	var duration time.Duration
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("duration", "end after this time, with exit status 0 only if replicas rose and fell on our metric; 0 runs until Ctrl-C", func(text string) (err error) {
		if duration, err = time.ParseDuration(text); err != nil {
			return errors.New("want a duration with its unit, such as 5m")
		}
		if duration != 0 && duration < shortest {
			return fmt.Errorf("want 0, for no end, or at least %s, the time a rise and a fall take to be followed", shortest)
		}
		return nil
	})
	root := flags.String("root", ".", "the checkout, with bin and .local/bin built")
	check := flags.Bool("check", false, "do nothing but say whether the other flags can be run")
	picture := flags.String("picture", "", "draw the run into this SVG file")
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	case *check:
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *picture, duration)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// shortest is the least time in which the load can rise and fall and the fleet can follow each.
const shortest = 5 * time.Minute

func run(ctx context.Context, root, picture string, duration time.Duration) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("finding the checkout: %w", err)
	}
	dir := filepath.Join(root, ".local")
	unlock, err := lock(filepath.Join(dir, "run.lock"))
	if err != nil {
		return err
	}
	defer unlock()

	bed, err := testbed.Up(ctx, testbed.Options{Root: root, Dir: dir, Out: os.Stdout})
	if err != nil {
		return err
	}
	defer func() {
		fmt.Println("ending what was started")
		// Ctrl-C has ended ctx, and the clean-up needs time of its own.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, bed.Down(end))
	}()

	s, err := begin(ctx, bed, duration)
	if err != nil {
		return err
	}
	live := console.NewLive(os.Stdout, console.LiveOptions{Terminal: console.Detect(os.Stdout, os.Getenv), Every: 15 * time.Second})
	watchErr := s.watch(ctx, live)
	if err := errors.Join(watchErr, live.Close()); err != nil {
		return err
	}
	if picture != "" {
		if err := s.film.draw(picture, s.panels()); err != nil {
			return err
		}
	}
	switch {
	case duration == 0:
		return nil // ended by hand, as it is meant to be: nothing to judge
	case ctx.Err() != nil:
		return fmt.Errorf("ended by hand before its %s were over: whether replicas rose and fell is not known", duration)
	}
	return s.summarize(ctx)
}

// lock takes the lock of the demonstration, or returns an error that names the process with the
// lock.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", filepath.Dir(path), err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid := make([]byte, 16)
		n, _ := f.Read(pid) // only for the message
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the demonstration runs already, as process %s: end that one first", pid[:n])
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, fmt.Sprint(os.Getpid()))); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	readyPoll   = 100 * time.Millisecond
	readyWithin = 3 * time.Minute // a busy machine takes ten seconds
	// reportEvery is how often progress names what up waits for.
	reportEvery = 3 * time.Second
)

// portTakenError says that another program has the port of a component.
type portTakenError struct {
	name string
	err  error
}

func (e *portTakenError) Error() string { return e.err.Error() }
func (e *portTakenError) Unwrap() error { return e.err }

// await waits until the health URL of a component answers with success.
func (u *up) await(ctx context.Context, c *client, name string) error {
	url := u.spec(name).health
	return u.wait(ctx, name, []string{name}, func(ctx context.Context) error { return c.ok(ctx, url) })
}

// wait polls a condition that the named components bring about. It gives up when one of them has
// ended, when ctx is cancelled, or after readyWithin.
func (u *up) wait(ctx context.Context, what string, by []string, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	begin, reported := time.Now(), time.Duration(0)
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		for _, name := range by {
			if p, _ := u.state.process(name); !p.alive() {
				return ended(p)
			}
		}
		if elapsed := time.Since(begin); elapsed-reported >= reportEvery {
			reported = elapsed
			fmt.Fprintf(u.Out, "waiting for %s: %s\n", what, elapsed.Round(time.Second))
		}
		select {
		case <-ctx.Done():
			p, _ := u.state.process(by[0])
			return fmt.Errorf("waiting for %s: %w; the last answer: %w\n%s", what, ctx.Err(), err, tail(p.Log))
		case <-ticker.C:
		}
	}
}

// ended returns the error for a component that should run and has ended.
func ended(p Process) error {
	err := fmt.Errorf("%s ended\n%s", p.Name, tail(p.Log))
	if raw, readErr := os.ReadFile(p.Log); readErr == nil && strings.Contains(string(raw), "address already in use") {
		return &portTakenError{p.Name, err}
	}
	return err
}

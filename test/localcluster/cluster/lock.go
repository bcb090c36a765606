package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a command that waits for another one tries again.
const lockPoll = 200 * time.Millisecond

// lock waits until no other command changes the cluster, and returns the function that unlocks. The
// lock is the kernel's: it ends with the process that holds it.
func lock(ctx context.Context, l layout, out io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", l.dir, err)
	}
	file, err := os.OpenFile(l.path("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for said := false; ; said = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if !said {
			fmt.Fprintln(out, "waiting for another localcluster command on", l.dir)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("waiting for the lock: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

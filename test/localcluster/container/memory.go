package container

import (
	"slices"
	"time"
)

// looksEvery is how often the memory of a process with a limit is read. The kernel reports the peak
// since the process began, so that no peak between two readings is missed.
const looksEvery = 100 * time.Millisecond

// confine kills a process, and all that it has started, once the process has had more than limit
// bytes of memory resident; 0 or less is no limit. The limit holds for the program, not for RunAs
// before it becomes the program. It is not enforced on systems that do not report the peak memory
// of a process.
func (p *process) confine(limit int64) {
	if limit <= 0 {
		return
	}
	tick := time.NewTicker(looksEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
		}
		if p.asRunAs && slices.Equal(arguments(p.cmd.Process.Pid), p.cmd.Args) {
			continue
		}
		if mostMemory(p.cmd.Process.Pid) > limit {
			p.beyondMemory.Store(true)
			_ = killGroup(p.cmd) // it may have ended
			return
		}
	}
}

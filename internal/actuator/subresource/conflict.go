package subresource

import (
	"maps"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// undoneOften is how often in a row what was set may be changed by somebody else
	// before this process sets it less often. Each time may be a rollout.
	undoneOften = 3
	// firstPause is how long it then waits, twice as long each further time, and
	// longestPause at most.
	firstPause   = time.Second
	longestPause = time.Minute
	// conflictEnds is after how long what was set has stayed: above longestPause, so
	// that a pause does not end a conflict, and below the three minutes in which Argo CD
	// compares by default, which undoes rarely enough.
	conflictEnds = 2 * time.Minute
)

// push is what was last set at a target, by a variant that no other should scale.
type push struct {
	at     time.Time // of the plan
	to     int       // replicas
	undone int       // how often in a row somebody else changed what had been set before
}

// pause is how long after a push the next one waits.
func (p push) pause() time.Duration {
	if p.undone < undoneOften {
		return 0
	}
	return min(firstPause<<min(p.undone-undoneOften, 10), longestPause)
}

// pushes are the last of each target.
type pushes map[scaling.VariantKey]push

// add takes what a plan of time at has changed.
func (p pushes) add(key scaling.VariantKey, at time.Time, c change) {
	next := push{at: at, to: c.to}
	if last, ok := p[key]; ok && last.to != c.from {
		next.undone = last.undone + 1
	}
	p[key] = next
}

// forget drops what has stayed until now.
func (p pushes) forget(now time.Time) {
	maps.DeleteFunc(p, func(_ scaling.VariantKey, last push) bool { return now.Sub(last.at) >= conflictEnds })
}

// tussles reports whether somebody else keeps changing what is set.
func (p pushes) tussles(key scaling.VariantKey) bool { return p[key].undone >= undoneOften }

// waits reports whether the target is not to be set again yet.
func (p pushes) waits(key scaling.VariantKey, now time.Time) bool {
	last := p[key]
	return now.Sub(last.at) < last.pause()
}

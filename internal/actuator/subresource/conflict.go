package subresource

import (
	"maps"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// revertsBeforePause is how many times in a row another client may change the replicas that
	// were set before this process sets them less often. Each time may be a rollout.
	revertsBeforePause = 3
	// firstPause is the first pause. Each further pause is twice as long, up to
	// longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// conflictEnds is how long the set replicas must stay before the conflict is over. It
	// is above longestPause, so that a pause does not end a conflict. It is below the three
	// minutes after which Argo CD compares by default, which is rare enough.
	conflictEnds = 2 * time.Minute
)

// push is the last change of a target that only this process should scale.
type push struct {
	at            time.Time        // of the plan
	to            scaling.Replicas // replicas
	revertedInRow int              // times in a row that another client changed the replicas
}

// pause returns how long the next push waits.
func (p push) pause() time.Duration {
	if p.revertedInRow < revertsBeforePause {
		return 0
	}
	return min(firstPause<<min(p.revertedInRow-revertsBeforePause, 10), longestPause)
}

// pushes holds the last push of each target.
type pushes map[scaling.VariantKey]push

// add records the change that a plan of time at made.
func (p pushes) add(key scaling.VariantKey, at time.Time, c change) {
	next := push{at: at, to: c.to}
	if last, ok := p[key]; ok && last.to != c.from {
		next.revertedInRow = last.revertedInRow + 1
	}
	p[key] = next
}

// forget drops pushes whose replicas have stayed until now.
func (p pushes) forget(now time.Time) {
	maps.DeleteFunc(p, func(_ scaling.VariantKey, last push) bool { return now.Sub(last.at) >= conflictEnds })
}

// inConflict reports whether another client keeps changing the replicas that are set.
func (p pushes) inConflict(key scaling.VariantKey) bool {
	return p[key].revertedInRow >= revertsBeforePause
}

// waits reports whether it is too early to set the target again.
func (p pushes) waits(key scaling.VariantKey, now time.Time) bool {
	last := p[key]
	return now.Sub(last.at) < last.pause()
}

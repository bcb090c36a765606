// Package executor decides when a cycle runs, and owns the only timer of the
// autoscaler: one loop for the cluster, whatever the number of objects.
//
// The hybrid executor runs at a fixed interval and, between two of those, as
// soon as something changes. Changes that come together are one cycle, and a
// cycle that a change asks for starts no earlier than a second after the last.
package executor

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// gap is the least time between two starts of which the later was asked for by
// a change: long enough to gather what one rollout causes, short enough to pass
// for at once.
const gap = time.Second

// Hybrid runs cycles at an interval and on demand. It is safe for concurrent
// use; Run may be called once.
type Hybrid struct {
	clock    clock.WithTicker
	interval func() time.Duration

	mu      sync.Mutex
	reasons map[string]bool
	wake    chan struct{}
}

// New returns an executor. interval is asked before every wait, so that a
// changed configuration takes effect with the next cycle; it returns a positive
// duration.
func New(c clock.WithTicker, interval func() time.Duration) *Hybrid {
	return &Hybrid{clock: c, interval: interval, reasons: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Trigger asks for a cycle because of reason, a short constant phrase. It
// returns at once.
func (h *Hybrid) Trigger(reason string) {
	h.mu.Lock()
	h.reasons[reason] = true
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // a cycle is asked for already and will see this change too
	}
}

// Run calls cycle at once, then at every interval and after every Trigger,
// until ctx ends; it returns nil then. Cycles never overlap. cycle is told the
// interval and what asked for it, sorted; nothing when its time had come.
func (h *Hybrid) Run(ctx context.Context, cycle func(ctx context.Context, interval time.Duration, reasons []string)) error {
	for {
		start := h.clock.Now()
		interval := h.interval()
		cycle(ctx, interval, h.takeReasons())
		if !h.wait(ctx, start, interval) {
			return nil
		}
	}
}

// wait returns true when the next cycle is due and false when ctx has ended.
func (h *Hybrid) wait(ctx context.Context, start time.Time, interval time.Duration) bool {
	timer := h.clock.NewTimer(max(0, start.Add(interval).Sub(h.clock.Now())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	case <-h.wake:
	}
	rest := h.clock.NewTimer(max(0, start.Add(min(gap, interval)).Sub(h.clock.Now())))
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-rest.C():
		return true
	}
}

// takeReasons empties what was asked for.
func (h *Hybrid) takeReasons() []string {
	select {
	case <-h.wake: // this cycle answers it
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	reasons := make([]string, 0, len(h.reasons))
	for r := range h.reasons {
		reasons = append(reasons, r)
	}
	clear(h.reasons)
	slices.Sort(reasons)
	return reasons
}

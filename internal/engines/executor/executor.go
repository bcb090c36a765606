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

// urgentGap is the same where a client waits for what the pass decides: long enough
// that passes do not follow upon one another without a pause.
const urgentGap = 100 * time.Millisecond

// Executor runs passes when its Mode says. It is safe for concurrent use; Run
// may be called once.
type Executor struct {
	clock    clock.WithTicker
	interval func() time.Duration

	mu      sync.Mutex
	mode    Mode
	reasons map[string]bool
	wake    chan struct{}
	urgent  chan struct{}
}

// New returns an executor. interval is asked before every wait, so that a
// changed configuration takes effect with the next pass; it returns a positive
// duration. In Reactive mode it is not waited for.
func New(c clock.WithTicker, mode Mode, interval func() time.Duration) *Executor {
	return &Executor{clock: c, mode: mode, interval: interval, reasons: map[string]bool{}, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// SetMode changes the mode, from the end of the present wait on; see Wake.
func (e *Executor) SetMode(m Mode) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mode = m
}

// modeNow returns the mode.
func (e *Executor) modeNow() Mode {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mode
}

// Trigger asks for a pass because of reason, a short phrase, since the world has
// changed. It returns at once. In Polling mode it does nothing.
func (e *Executor) Trigger(reason string) {
	if e.modeNow() != Polling {
		e.Wake(reason)
	}
}

// Hurry is Trigger for what a client waits for: the pass starts without the second
// that others wait after the last one, and answers those too.
func (e *Executor) Hurry(reason string) {
	if e.modeNow() != Polling {
		e.ask(e.urgent, reason)
	}
}

// Wake asks for a pass because of reason, a short phrase, in every mode: somebody
// wants it, or has changed mode or interval, which the pass takes up. It returns
// at once.
func (e *Executor) Wake(reason string) { e.ask(e.wake, reason) }

// ask notes a reason and tells Run of it.
func (e *Executor) ask(by chan struct{}, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock() // with its reason, or a pass would take the one and leave the other
	e.reasons[reason] = true
	select {
	case by <- struct{}{}:
	default: // a pass is asked for already and will see this change too
	}
}

// Run calls pass at once and then whenever the mode says, until ctx ends; it
// returns nil then. A pass that was asked for does not put off the one that its time
// brings: what asks, a replica that became Ready say, is often too fresh to be
// measured. pass is told when the next one is planned, 0 when only a
// change will bring it, and what asked for this one, sorted; nothing when its
// time had come.
func (e *Executor) Run(ctx context.Context, pass func(ctx context.Context, interval time.Duration, reasons []string)) error {
	var planned time.Time // for the next pass that its time brings
	for {
		start := e.clock.Now()
		var interval time.Duration
		if e.modeNow() != Reactive {
			interval = e.interval()
		}
		if next := start.Add(interval); !planned.After(start) || next.Before(planned) {
			planned = next
		}
		pass(ctx, interval, e.takeReasons())
		if !e.wait(ctx, start, planned, interval) {
			return nil
		}
	}
}

// wait returns true when the next pass is due, as planned or because somebody asks,
// and false when ctx has ended. With an interval of 0 nothing is planned.
func (e *Executor) wait(ctx context.Context, start, planned time.Time, interval time.Duration) bool {
	var due <-chan time.Time
	rest := gap
	if interval > 0 {
		timer := e.clock.NewTimer(e.until(planned))
		defer timer.Stop()
		due, rest = timer.C(), min(gap, interval)
	}
	select {
	case <-ctx.Done():
	case <-due:
		return ctx.Err() == nil // both may have come while the pass ran
	case <-e.wake:
		if e.pause(ctx, start.Add(rest), e.urgent) {
			return ctx.Err() == nil
		}
	case <-e.urgent:
	}
	e.pause(ctx, start.Add(min(urgentGap, rest)), nil)
	return ctx.Err() == nil
}

// pause waits until an instant or the end of ctx, and returns false if it was broken
// off before. Nil never breaks off.
func (e *Executor) pause(ctx context.Context, until time.Time, broken <-chan struct{}) bool {
	timer := e.clock.NewTimer(e.until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-broken:
		return false
	}
	return true
}

// until returns how long it is until t, 0 when it is over.
func (e *Executor) until(t time.Time) time.Duration { return max(0, t.Sub(e.clock.Now())) }

// takeReasons empties what was asked for.
func (e *Executor) takeReasons() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, by := range []chan struct{}{e.wake, e.urgent} {
		select {
		case <-by: // this pass answers it
		default:
		}
	}
	reasons := make([]string, 0, len(e.reasons))
	for r := range e.reasons {
		reasons = append(reasons, r)
	}
	clear(e.reasons)
	slices.Sort(reasons)
	return reasons
}

package executor

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// gap is the least time from the start of a pass to the start of a pass for a change: long
// enough to gather the changes of one rollout, short enough to seem immediate.
const gap = time.Second

// urgentGap is the gap where a client waits for the decision of the pass: long enough that
// passes do not run without a pause.
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

// New returns an executor. It calls interval before every wait, so that a changed
// configuration takes effect with the next pass; interval returns a positive duration.
// Reactive mode ignores it.
func New(c clock.WithTicker, mode Mode, interval func() time.Duration) *Executor {
	return &Executor{clock: c, mode: mode, interval: interval, reasons: map[string]bool{}, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// SetMode changes the mode. A wait that has begun goes on as it is; see Wake.
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

// Trigger asks for a pass because the cluster changed. reason is a short phrase. It returns
// at once. In Polling mode it does nothing.
func (e *Executor) Trigger(reason string) {
	if e.modeNow() != Polling {
		e.Wake(reason)
	}
}

// Hurry is Trigger for a change that a client waits for: the pass starts after urgentGap instead of
// gap, and covers all other changes, too.
func (e *Executor) Hurry(reason string) {
	if e.modeNow() != Polling {
		e.ask(e.urgent, reason)
	}
}

// Wake asks for a pass in every mode: on request, or because mode or interval changed, so that the
// change takes effect. reason is a short phrase. It returns at once.
func (e *Executor) Wake(reason string) { e.ask(e.wake, reason) }

// ask stores a reason and signals Run.
func (e *Executor) ask(by chan struct{}, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock() // after the send, so that a pass takes the reason and the signal together
	e.reasons[reason] = true
	select {
	case by <- struct{}{}:
	default: // a pass is already requested and will see this change too
	}
}

// Run calls pass at once and then whenever the mode says, until ctx ends; then it returns
// nil. A requested pass does not delay the pass of the interval: the change that requested
// it, such as a replica that became Ready, is often too recent to be measured. pass
// receives the time to the next planned pass, 0 when only a change will start one, and the
// sorted reasons of this pass, none when the interval started it.
func (e *Executor) Run(ctx context.Context, pass func(ctx context.Context, interval time.Duration, reasons []string)) error {
	var planned time.Time // start of the next pass of the interval
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

// wait returns true when the next pass is due, as planned or on request, and false when ctx
// has ended. With an interval of 0 nothing is planned.
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

// pause waits until an instant or the end of ctx, and returns false if broken fires before.
// A nil broken never fires.
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

// until returns the time left to t, 0 when t has passed.
func (e *Executor) until(t time.Time) time.Duration { return max(0, t.Sub(e.clock.Now())) }

// takeReasons returns the stored reasons and clears them.
func (e *Executor) takeReasons() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, by := range []chan struct{}{e.wake, e.urgent} {
		select {
		case <-by: // this pass covers it
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

package externalscaler

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
)

// lookEvery is how often a process that does not lead looks for changed decisions. A process that
// leads looks when they change.
const lookEvery = 500 * time.Millisecond

// While a variant should have a replica and has none, the state is sent again after repeatFirst,
// and then after pauses twice as long each time, up to repeatLast. KEDA ignores the state until it
// has made its HPA, and polls only every 30 s.
const (
	repeatFirst = time.Second
	repeatLast  = 16 * time.Second
)

// specEvery is how often the metric is sent again while a stream is open. KEDA forgets it with any
// error of any trigger of a ScaledObject, and when the server cannot be reached, its fallback needs
// a metric that it knows.
const specEvery = time.Minute

// streams counts the open streams, and wakes them. It is safe for concurrent use.
type streams struct {
	mu     sync.Mutex
	of     map[string]int // by caller
	all    int
	wakeUp chan struct{} // closed and replaced when decisions may have changed
}

func newStreams() *streams { return &streams{of: map[string]int{}, wakeUp: make(chan struct{})} }

// open counts a stream of a caller, or returns an error where there are too many.
func (s *streams) open(caller string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[caller] >= maxStreamsOfCaller:
		return status.Errorf(codes.ResourceExhausted, "the caller has %d streams open, which is the most: use triggers of type external, which need none", maxStreamsOfCaller)
	case s.all >= maxStreams:
		return status.Errorf(codes.ResourceExhausted, "%d streams are open, which is the most", maxStreams)
	}
	s.of[caller]++
	s.all++
	return nil
}

// closed stops counting a stream of a caller.
func (s *streams) closed(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[caller]--; s.of[caller] == 0 {
		delete(s.of, caller)
	}
}

// woken returns a channel that is closed when decisions may have changed.
func (s *streams) woken() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wakeUp
}

// wake makes every stream look for changed decisions.
func (s *streams) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all > 0 {
		close(s.wakeUp)
		s.wakeUp = make(chan struct{})
	}
}

// watch wakes the streams until ctx ends: at every change of the store, and every lookEvery while
// this process does not lead.
func (s *service) watch(ctx context.Context) {
	ticker := s.clock.NewTicker(lookEvery)
	defer ticker.Stop()
	changed := s.lookup.decisions.Store.Changed()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = s.lookup.decisions.Store.Changed()
			s.streams.wake()
		case <-ticker.C():
			if _, leads := s.lookup.decisions.Store.Values(""); !leads {
				s.streams.wake()
			}
		}
	}
}

// StreamIsActive sends whether the variant should have a replica: when the stream opens, when that
// changes, and again while the replica is missing. It ends with the client or the server. While no
// decision is known it sends nothing.
func (s *service) StreamIsActive(ref *wire.ScaledObjectRef, stream grpc.ServerStreamingServer[wire.IsActiveResponse]) error {
	if err := check(ref); err != nil {
		return err
	}
	var said push
	return s.hold(stream.Context(), func(ctx context.Context) (time.Duration, error) {
		v, err := s.lookup.decision(ctx, ref)
		if err != nil {
			return lookEvery, nil //nolint:nilerr // it may become known; GetMetrics tells the error
		}
		send, again := said.look(v, s.clock.Now())
		if send {
			err = stream.Send(&wire.IsActiveResponse{Result: v.Desired > 0})
		}
		return again, err
	})
}

// StreamMetricSpec sends the metric and its target, which never change, when the stream
// opens and every specEvery.
func (s *service) StreamMetricSpec(ref *wire.ScaledObjectRef, stream grpc.ServerStreamingServer[wire.GetMetricSpecResponse]) error {
	if err := check(ref); err != nil {
		return err
	}
	var next time.Time
	return s.hold(stream.Context(), func(context.Context) (time.Duration, error) {
		now := s.clock.Now()
		if wait := next.Sub(now); wait > 0 {
			return wait, nil
		}
		next = now.Add(specEvery)
		return specEvery, stream.Send(spec())
	})
}

// hold calls look at once, when decisions may have changed, and after the time that look returned,
// 0 for never. It returns the error of look, of the client's context, or of its certificate, and
// nil when the server stops, which ends the stream without an error.
func (s *service) hold(ctx context.Context, look func(context.Context) (again time.Duration, err error)) error {
	verify := s.clock.NewTicker(verifyEvery)
	defer verify.Stop()
	for {
		woken := s.streams.woken() // before the look, so that no change is missed
		again, err := look(ctx)
		if err != nil {
			return err
		}
		if err := s.wait(ctx, woken, again, verify.C()); err != nil {
			if errors.Is(err, errStopping) {
				return nil
			}
			return err
		}
	}
}

// errStopping means that the server stops.
var errStopping = errors.New("the server stops")

// wait returns nil when it is time to look again, else the reason why the stream ends.
func (s *service) wait(ctx context.Context, woken <-chan struct{}, again time.Duration, verify <-chan time.Time) error {
	var timeout <-chan time.Time
	if again > 0 {
		timer := s.clock.NewTimer(again)
		defer timer.Stop()
		timeout = timer.C()
	}
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-s.stopping:
		return errStopping
	case <-verify:
		return s.verify(ctx)
	case <-woken:
	case <-timeout:
	}
	return nil
}

// push is the state that a stream sent last. The zero push has sent nothing.
type push struct {
	said, active bool
	pause        time.Duration // pause before the state is sent again
	again        time.Time     // when it may be sent again
}

// look returns whether to send a decision now, and after how long to look again even if no decision
// changes, 0 for never.
func (p *push) look(v external.Value, now time.Time) (send bool, again time.Duration) {
	active := v.Desired > 0
	missing := active && (!v.Observed || v.Current <= 0)
	switch {
	case !p.said || active != p.active:
		*p, send = push{said: true, active: active, pause: repeatFirst, again: now.Add(repeatFirst)}, true
	case missing && !now.Before(p.again):
		p.pause = min(2*p.pause, repeatLast)
		p.again, send = now.Add(p.pause), true
	}
	if missing {
		again = p.again.Sub(now)
	}
	return send, again
}

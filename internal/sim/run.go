package sim

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Run runs a configuration under a policy and returns the Report. An error says what is wrong with
// the configuration, a workload or the policy, or that ctx ended. If the run had begun, the Report
// covers it up to there and is not Complete.
func Run(ctx context.Context, c Config, policy Policy) (Report, error) {
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	w, err := newWorld(c.withDefaults(), policy)
	if err != nil {
		return Report{}, err
	}
	arrivals, err := w.open()
	if err != nil {
		return Report{}, err
	}
	defer arrivals.close()
	err = w.run(ctx, arrivals)
	r := w.report()
	r.Complete = err == nil
	return r, err
}

// run handles arrivals and events in the order of time, until all requests have
// ended or the tail is over.
func (w *world) run(ctx context.Context, arrivals *arrivals) error {
	const breath = 1024 // events between two looks at ctx
	for n := 0; ; n++ {
		if n%breath == 0 && ctx.Err() != nil {
			return fmt.Errorf("simulation: interrupted at %s of virtual time: %w", w.now, context.Cause(ctx))
		}
		next := arrivals.earliest()
		if next == nil || w.cfg.Duration > 0 && next.request.At > w.cfg.Duration {
			w.closeArrivals()
		}
		switch due := w.agenda.next(); {
		case !w.closed && next.request.At <= due:
			w.now = next.request.At
			w.arrive(next.model, next.request)
			if err := next.pull(); err != nil {
				return err
			}
		case w.closed && w.over(due):
			return w.closeInterval()
		default:
			if err := w.handle(w.agenda.pop()); err != nil {
				return err
			}
		}
		if w.cfg.check != nil {
			w.settleAll()
			if err := w.cfg.check(w); err != nil {
				return err
			}
		}
	}
}

// closeArrivals ends the arrivals: cost counts until the last one, or until Duration.
func (w *world) closeArrivals() {
	if w.closed {
		return
	}
	w.closed = true
	w.horizon = w.now
	if w.cfg.Duration > 0 {
		w.horizon = w.cfg.Duration
	}
}

// over reports whether the run ends before the next event, which is due at due. At the latest it
// ends Tail after the horizon.
func (w *world) over(due time.Duration) bool {
	if due < w.horizon {
		return false
	}
	if last := w.horizon + w.cfg.Tail; due >= last {
		w.now = max(w.now, last)
		return true
	}
	if w.now < w.horizon {
		w.now = w.horizon
	}
	w.settleAll()
	for _, m := range w.models {
		if m.inFlight() > 0 {
			return false
		}
	}
	return true
}

// arrivals merges the workloads of the models.
type arrivals struct{ streams []*stream }

// stream is the workload of one model.
type stream struct {
	model   *model
	next    func() (workload.Request, error, bool)
	stop    func()
	request workload.Request // next to arrive, unless done
	done    bool
	count   int // requests read
}

// open reads the first request of every workload.
func (w *world) open() (*arrivals, error) {
	a := &arrivals{}
	for _, m := range w.models {
		s := &stream{model: m}
		s.next, s.stop = iter.Pull2(m.Requests)
		a.streams = append(a.streams, s)
		if err := s.pull(); err != nil {
			a.close()
			return nil, err
		}
	}
	return a, nil
}

func (a *arrivals) close() {
	for _, s := range a.streams {
		s.stop()
	}
}

// earliest returns the stream with the next arrival, among equals the first in the order of models;
// nil when there is none.
func (a *arrivals) earliest() *stream {
	var first *stream
	for _, s := range a.streams {
		if !s.done && (first == nil || s.request.At < first.request.At) {
			first = s
		}
	}
	return first
}

// pull reads the next request of a stream.
func (s *stream) pull() error {
	request, err, ok := s.next()
	if err != nil {
		return fmt.Errorf("simulation: reading the workload of %s after %d requests: %w", s.model.Key, s.count, err)
	}
	if !ok {
		s.done = true
		return nil
	}
	s.count++
	if request.At < s.request.At {
		return fmt.Errorf("simulation: request %d of the workload of %s arrives at %s, before the %s of the one before it; want the order of time",
			s.count, s.model.Key, request.At, s.request.At)
	}
	s.request = request
	return nil
}

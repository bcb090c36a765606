package loadgen

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Run sends requests, each at its time, and returns when all are answered. When ctx ends, it sends
// no more, interrupts those under way, and returns the summary so far without an error.
//
// An error is either that of wrong Options, when nothing was sent, or an error of requests; then
// the summary covers the requests before it.
func Run(ctx context.Context, requests iter.Seq2[workload.Request, error], options Options) (Summary, error) {
	options, endpoint, err := options.complete()
	if err != nil {
		return Summary{}, err
	}
	transport := options.Transport
	if transport == nil {
		own := newTransport(options.MaxInFlight)
		defer own.CloseIdleConnections()
		transport = own
	}
	r := &run{
		caller: caller{
			client:   &http.Client{Transport: transport},
			endpoint: endpoint,
			options:  options,
			prompts:  newPrompts(),
		},
		start: options.Clock.Now(),
	}
	r.tally = newTally(options.SLO, options.Seed, r.start)
	stop := r.report()
	err = r.send(ctx, requests)
	sent := options.Clock.Now()
	r.calls.Wait()
	end := options.Clock.Now()
	stop()
	return r.tally.summary(sent, end), err
}

// run is the state of one run.
type run struct {
	caller
	start time.Time
	tally *tally
	calls sync.WaitGroup
}

// send starts every request when it is due, until ctx or requests end.
func (r *run) send(ctx context.Context, requests iter.Seq2[workload.Request, error]) error {
	var sent uint64
	for request, err := range requests {
		if err != nil {
			return fmt.Errorf("after %d requests: %w", sent, err)
		}
		due := r.start.Add(request.At)
		if !r.wait(ctx, due) {
			return nil
		}
		number := sent // of this request, for its prompt
		sent++
		if !r.tally.begin(request, r.options.MaxInFlight) {
			continue
		}
		r.calls.Go(func() { r.tally.end(r.call(ctx, request, number, due)) })
	}
	r.wait(ctx, r.start.Add(r.options.Duration))
	return nil
}

// wait returns at t, or false when ctx has ended.
func (r *run) wait(ctx context.Context, t time.Time) bool {
	d := t.Sub(r.options.Clock.Now())
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := r.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// report calls Progress regularly until stop is called. stop waits for the last call and then
// reports the end.
func (r *run) report() (stop func()) {
	if r.options.Progress == nil {
		return func() {}
	}
	ticker := r.options.Clock.NewTicker(r.options.ProgressEvery)
	done := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		for {
			select {
			case <-ticker.C():
				r.options.Progress(r.tally.progress(r.options.Clock.Now()))
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		reporter.Wait()
		r.options.Progress(r.tally.progress(r.options.Clock.Now()))
	}
}

// newTransport returns a transport that keeps a connection for every request that may be under way,
// and allows 10 s for connecting.
func newTransport(connections int) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // a compressed stream arrives in blocks
	}
}

package collector

import (
	"context"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// flight is a fetch under way that others may wait for.
type flight struct {
	done   chan struct{}
	result *measurement // set before done is closed; nil if whoever fetched gave up
}

// measure fetches, or waits for the fetch that is under way if that is about the
// same models. Of all who call at once, one asks; the others wait for it, each as
// long as its own context. One that gives up does not spoil the others' answer:
// the next asks instead.
func (c *Collector) measure(ctx context.Context, fleet scaling.Fleet) *measurement {
	for {
		f, leads := c.join()
		if leads {
			return c.lead(ctx, f, fleet)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			err := fmt.Errorf("waiting for the collection under way: %w", ctx.Err())
			return &measurement{err: err, fault: sentence(err.Error())}
		}
		if f.result != nil && f.result.covers(fleet) {
			return f.result
		}
	}
}

// join returns the flight under way, or a new one that the caller leads.
func (c *Collector) join() (f *flight, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight == nil {
		c.flight = &flight{done: make(chan struct{})}
		return c.flight, true
	}
	return c.flight, false
}

// lead fetches on behalf of everybody.
func (c *Collector) lead(ctx context.Context, f *flight, fleet scaling.Fleet) *measurement {
	defer func() {
		c.mu.Lock()
		c.flight = nil
		c.mu.Unlock()
		close(f.done)
	}()
	began := c.clock.Now()
	m := c.fetch(ctx, fleet)
	c.keep(m)
	c.opts.ObserveFetch(c.clock.Since(began), m.err)
	if m.err == nil || ctx.Err() == nil {
		f.result = m
	}
	return m
}

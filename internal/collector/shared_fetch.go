package collector

import (
	"context"
	"fmt"
)

// flight is a fetch under way for which other callers may wait.
type flight struct {
	done   chan struct{}
	result *measurement // set before done is closed; nil if the caller that fetched gave up
}

// measure fetches, or waits for the fetch that is under way. Of concurrent callers one fetches. The
// others wait, each as long as its own context, and take its outcome if that covers their models,
// or if a fetch of everything failed: a caller does not repeat what just failed. When the caller
// that fetches gives up, the next fetches instead. Waiting and fetching together stay within the
// budget.
func (c *Collector) measure(ctx context.Context, e fetchPlan) *measurement {
	left, cancel := context.WithTimeout(ctx, c.opts.Budget)
	defer cancel()
	for limit := ctx; ; limit = left {
		f, leads := c.board()
		if leads {
			return c.lead(limit, f, e)
		}
		select {
		case <-f.done:
		case <-left.Done():
			err := fmt.Errorf("waiting for the collection under way: %w", left.Err())
			return &measurement{err: err, fault: sentence(err.Error())}
		}
		if f.result != nil && (f.result.err != nil && !f.result.part || f.result.covers(e.fleet)) {
			return f.result
		}
	}
}

// board returns the flight under way, or a new one that the caller leads.
func (c *Collector) board() (f *flight, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight == nil {
		c.flight = &flight{done: make(chan struct{})}
		return c.flight, true
	}
	return c.flight, false
}

// lead fetches on behalf of all callers. It does not share a failure that the end of ctx may have
// caused.
func (c *Collector) lead(ctx context.Context, f *flight, e fetchPlan) *measurement {
	defer func() {
		c.mu.Lock()
		c.flight = nil
		c.mu.Unlock()
		close(f.done)
	}()
	began, mark := c.clock.Now(), c.opts.Cache.Mark()
	m := c.fetch(ctx, e)
	m.part = e.part
	c.keep(ctx, e, m, mark)
	c.opts.ObserveFetch(c.clock.Since(began), m.err)
	if m.err == nil || ctx.Err() == nil {
		f.result = m
	}
	return m
}

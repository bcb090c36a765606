package collector

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// answer is what came back for one quantity.
type answer struct {
	samples []Sample
	took    time.Duration
	err     error // names the quantity
}

// answers holds one answer per quantity.
type answers [query.Count]answer

// ask puts the answers to the given quantities into a. One that fails leaves
// the others alone. It returns when all have ended.
func (c *Collector) ask(ctx context.Context, a *answers, at time.Time, window time.Duration, quantities ...query.Quantity) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, c.opts.Concurrency)
	for _, q := range quantities {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			a[q] = c.askOne(ctx, q, at, window)
		})
	}
	wg.Wait()
	for _, q := range quantities {
		c.opts.Observe(q.String(), a[q].took, a[q].err)
	}
}

// askOne asks for one quantity within the timeout.
func (c *Collector) askOne(ctx context.Context, q query.Quantity, at time.Time, window time.Duration) answer {
	ctx, cancel := context.WithTimeout(ctx, c.opts.QueryTimeout)
	defer cancel()
	began := c.clock.Now()
	samples, err := c.source.Query(ctx, q.Expr(window), at)
	took := c.clock.Since(began)
	if err != nil {
		return answer{took: took, err: fmt.Errorf("querying %s: %w", q, err)}
	}
	return answer{samples: samples, took: took}
}

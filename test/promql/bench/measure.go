package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	testingclock "k8s.io/utils/clock/testing"
)

// patience limits a collection. On a busy machine a collection is slow, which the table shows and
// which is no error.
const patience = 2 * time.Minute

// client is the manager's side: a collector with a cache that does not expire, because its clock
// does not move.
type client struct {
	fleet       scaling.Fleet
	percentiles bool
	collector   *collector.Collector
	source      *prometheus.Source
	queries     int
	failed      error // the last query that failed
}

// newClient returns a client of a server. With percentiles, every model has a latency objective, so
// that the client queries histograms.
func newClient(url string, models int, percentiles bool) (*client, error) {
	c := &client{fleet: fleet(models), percentiles: percentiles}
	var err error
	if c.source, err = prometheus.New(prometheus.Config{URL: url, AllowInsecure: true, Timeout: patience}); err != nil {
		return nil, fmt.Errorf("making the source: %w", err)
	}
	c.begin()
	return c, nil
}

// begin makes a collector with an empty cache. The connections stay.
func (c *client) begin() {
	clk := testingclock.NewFakeClock(now())
	c.collector = collector.New(c.source, clk, collector.Options{
		Cache:        cache.New(clk, cache.Options{}),
		QueryTimeout: patience, Budget: patience,
		Percentiles: func(scaling.ModelKey) bool { return c.percentiles },
		Observe: func(_ string, _ time.Duration, err error) {
			c.queries++
			if err != nil {
				c.failed = err
			}
		},
	})
}

// cold collects with an empty cache.
func (c *client) cold(ctx context.Context) error {
	c.begin()
	return c.collect(ctx)
}

// collect collects, from the cache if it can, and checks that it has readings of every replica of
// every model: the cost of an empty answer means nothing.
func (c *client) collect(ctx context.Context) error {
	snapshots := c.collector.Collect(ctx, c.fleet)
	if c.failed != nil {
		return fmt.Errorf("collecting: %w", c.failed)
	}
	for _, s := range snapshots {
		if len(s.Replicas) != replicas || s.Load.ArrivalRate.State != scaling.Fresh || s.Load.GatewayQueue.State != scaling.Fresh {
			return fmt.Errorf("collecting: of %s came %d replicas and %+v", s.Model, len(s.Replicas), s.Load)
		}
		for _, r := range s.Replicas {
			if r.KVCacheUsage.State != scaling.Fresh || r.QueueLength.State != scaling.Fresh || r.KVCapacity.State != scaling.Fresh {
				return fmt.Errorf("collecting: of %s came %+v", s.Model, r)
			}
		}
	}
	return nil
}

// state returns the memory that the collector and its source keep between two cycles, in bytes.
func state(ctx context.Context, url string, models int, percentiles bool) (int64, error) {
	c, err := newClient(url, models, percentiles)
	if err != nil {
		return 0, err
	}
	defer c.source.Close()
	before := heap()
	if err := c.cold(ctx); err != nil {
		return 0, err
	}
	after := heap()
	runtime.KeepAlive(c)
	return after - before, nil
}

// heap returns the live bytes of the heap.
func heap() int64 {
	// Twice, since pools keep objects for one collection.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// cost is the cost of one kind of cycle.
type cost struct {
	latency time.Duration // wall-clock time of a cycle
	client  time.Duration // CPU time of the manager's side per cycle
	server  time.Duration // CPU time of Prometheus per cycle
	queries float64       // per cycle
}

// measure runs a cycle n times.
func (c *client) measure(ctx context.Context, s *server, n int, run func(context.Context) error) (cost, error) {
	serverBefore, err := s.number(ctx, "/cpu")
	if err != nil {
		return cost{}, err
	}
	queries, cpuBefore, began := c.queries, cpu(), time.Now()
	for range n {
		if err := run(ctx); err != nil {
			return cost{}, err
		}
	}
	took, used := time.Since(began), cpu()-cpuBefore
	serverAfter, err := s.number(ctx, "/cpu")
	if err != nil {
		return cost{}, err
	}
	return cost{
		latency: took / time.Duration(n), client: used / time.Duration(n),
		server:  time.Duration(serverAfter-serverBefore) / time.Duration(n),
		queries: float64(c.queries-queries) / float64(n),
	}, nil
}

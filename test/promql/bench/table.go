package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Runs of each kind of cycle for the table.
const (
	coldRuns = 10
	warmRuns = 100
)

// fetchInterval is the default interval of the background fetcher. The queries per minute follow
// from it.
const fetchInterval = 15 * time.Second

// line is one row of the table.
type line struct {
	models                 int
	series                 int64
	cold, histograms, warm cost
	state, stateHistograms int64 // bytes
}

// table measures every size and prints the rows.
func table(ctx context.Context, w io.Writer, sizes []int) error {
	fmt.Fprintln(w, "| VAs x replicas | series | queries a cycle | queries/min, fetched every 15s | cold | cold, histograms | warm "+
		"| client CPU cold (histograms; warm) | Prometheus CPU cold (histograms) | state per VA (histograms) |")
	fmt.Fprintln(w, "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, models := range sizes {
		l, err := measureSize(ctx, models)
		if err != nil {
			return fmt.Errorf("measuring %d models: %w", models, err)
		}
		l.print(w)
	}
	return nil
}

func (l line) print(w io.Writer) {
	perMinute := float64(time.Minute / fetchInterval)
	fmt.Fprintf(w, "| %d x %d | %d | %.0f (%.0f) | %.0f (%.0f) | %s | %s | %s | %s (%s; %s) | %s (%s) | %.1f KB (%.1f KB) |\n",
		l.models, replicas, l.series, l.cold.queries, l.histograms.queries, perMinute*l.cold.queries, perMinute*l.histograms.queries,
		ms(l.cold.latency), ms(l.histograms.latency), ms(l.warm.latency),
		ms(l.cold.client), ms(l.histograms.client), ms(l.warm.client), ms(l.cold.server), ms(l.histograms.server),
		float64(l.state)/float64(l.models)/1000, float64(l.stateHistograms)/float64(l.models)/1000)
}

// ms formats a duration in milliseconds, with two significant digits below 10 ms.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v < 10 {
		return fmt.Sprintf("%.2g ms", v)
	}
	return fmt.Sprintf("%.0f ms", v)
}

// measureSize starts a server with so many models and measures a row of the table.
func measureSize(ctx context.Context, models int) (l line, err error) {
	s, err := startServer(ctx, models)
	if err != nil {
		return line{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l.models = models
	if l.series, err = s.number(ctx, "/series"); err != nil {
		return line{}, err
	}
	if l.cold, l.warm, err = measureKind(ctx, s, models, false); err != nil {
		return line{}, err
	}
	if l.histograms, _, err = measureKind(ctx, s, models, true); err != nil {
		return line{}, err
	}
	if l.state, err = state(ctx, s.url, models, false); err != nil {
		return line{}, err
	}
	l.stateHistograms, err = state(ctx, s.url, models, true)
	return l, err
}

// measureKind measures cold and warm cycles, with histograms or without.
func measureKind(ctx context.Context, s *server, models int, percentiles bool) (cold, warm cost, err error) {
	c, err := newClient(s.url, models, percentiles)
	if err != nil {
		return cost{}, cost{}, err
	}
	defer c.source.Close()
	// The first cycle opens connections and allocates memory.
	if err := c.cold(ctx); err != nil {
		return cost{}, cost{}, err
	}
	if cold, err = c.measure(ctx, s, coldRuns, c.cold); err != nil {
		return cost{}, cost{}, err
	}
	warm, err = c.measure(ctx, s, warmRuns, c.collect)
	return cold, warm, err
}

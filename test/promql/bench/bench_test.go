package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the server of its own benchmarks.
func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(serveModels); ok {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTheTableMeasuresWhatItSays runs the smallest size: everything is asked, all
// of it is answered, and a warm cycle asks nothing.
func TestTheTableMeasuresWhatItSays(t *testing.T) {
	l, err := measureSize(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if l.cold.queries != 12 || l.histograms.queries != 14 || l.warm.queries != 0 {
		t.Errorf("%v, %v and %v queries a cycle, want 12 cold, 14 with histograms and none warm",
			l.cold.queries, l.histograms.queries, l.warm.queries)
	}
	if want := int64(len(columns(2))); l.series != want || l.state <= 0 || l.cold.server <= 0 {
		t.Errorf("%d series of %d, %d bytes of state, %v of CPU time", l.series, want, l.state, l.cold.server)
	}
	var text strings.Builder
	l.print(&text)
	if !strings.HasPrefix(text.String(), "| 2 x 10 | ") {
		t.Errorf("printed %q", text.String())
	}
}

func BenchmarkCollect(b *testing.B) {
	for _, models := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("VAs=%d", models), func(b *testing.B) {
			s, err := startServer(b.Context(), models)
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := s.close(); err != nil {
					b.Error(err)
				}
			}()
			for _, percentiles := range []bool{false, true} {
				suffix := ""
				if percentiles {
					suffix = "/histograms"
				}
				b.Run("cold"+suffix, func(b *testing.B) { benchmark(b, s, models, percentiles, (*client).cold) })
				b.Run("warm"+suffix, func(b *testing.B) { benchmark(b, s, models, percentiles, (*client).collect) })
			}
		})
	}
}

// benchmark runs one kind of cycle and reports what it took on both sides, and
// what the collector keeps.
func benchmark(b *testing.B, s *server, models int, percentiles bool, cycle func(*client, context.Context) error) {
	kept, err := state(b.Context(), s.url, models, percentiles)
	if err != nil {
		b.Fatal(err)
	}
	c, err := newClient(s.url, models, percentiles)
	if err != nil {
		b.Fatal(err)
	}
	defer c.source.Close()
	if err := c.cold(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	got, err := c.measure(b.Context(), s, b.N, func(ctx context.Context) error { return cycle(c, ctx) })
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(got.queries, "queries/op")
	b.ReportMetric(got.queries*float64(time.Minute/fetchInterval), "queries/min")
	b.ReportMetric(got.client.Seconds()*1e9, "client-cpu-ns/op")
	b.ReportMetric(got.server.Seconds()*1e9, "server-cpu-ns/op")
	b.ReportMetric(float64(kept)/float64(models), "state-B/VA")
}

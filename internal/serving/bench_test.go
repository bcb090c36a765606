package serving

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkStep measures one step of a closed loop at a constant batch, prefill
// and admission of the successors included.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1, 16, 64, 256} {
		for _, milestones := range []bool{false, true} {
			name := fmt.Sprintf("batch=%d/events=all", n)
			if milestones {
				name = fmt.Sprintf("batch=%d/events=milestones", n)
			}
			b.Run(name, func(b *testing.B) { benchmarkStep(b, n, Options{Milestones: milestones}) })
		}
	}
}

func benchmarkStep(b *testing.B, n int, o Options) {
	p := testProfile()
	p.MaxBatchSize, p.MaxBatchedTokens = n, 8192
	r, err := New(p, o)
	if err != nil {
		b.Fatal(err)
	}
	next := uint64(0)
	for range n {
		next++
		submit(b, r, 0, Request{ID: next, InputTokens: 100 + int(next%200), OutputTokens: 100 + int(next*7%200)})
	}
	events := make([]Event, 0, 4*n+16)
	for range 1000 { // let the batch lose its lockstep and the buffers grow
		at, _ := r.Next()
		events = step(b, r, at, events, &next)
	}
	before := r.Stats().Steps
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		at, _ := r.Next()
		events = step(b, r, at, events, &next)
	}
	b.ReportMetric(float64(r.Stats().Steps-before)/b.Elapsed().Seconds(), "steps/s")
}

func step(b *testing.B, r *Replica, at time.Duration, events []Event, next *uint64) []Event {
	events = r.Advance(at, events[:0])
	for _, e := range events {
		if e.Kind == Finished {
			*next++
			submit(b, r, at, Request{ID: *next, InputTokens: 100 + int(*next%200), OutputTokens: 100 + int(*next*7%200)})
		}
	}
	return events
}

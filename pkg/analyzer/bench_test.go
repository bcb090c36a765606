package analyzer

import "testing"

// benchConfig is the published A100 profile at a batch of 256 with the published
// queue of ten batches.
var benchConfig = Config{
	MaxBatch: 256, MaxQueue: 2560,
	Service: FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
	Size:    RequestSize{InputTokens: 128, OutputTokens: 128},
}

// Targets that both bind within the range.
const benchTTFT, benchITL = 3000.0, 100.0

func benchAnalyzer(b *testing.B) (QueueAnalyzer, float64) {
	b.Helper()
	q, err := NewQueueAnalyzer(benchConfig)
	if err != nil {
		b.Fatal(err)
	}
	_, most := q.RateRange()
	b.ReportAllocs()
	return q, most
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewQueueAnalyzer(benchConfig); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnalyze(b *testing.B) {
	b.Run("closed form", func(b *testing.B) {
		q, most := benchAnalyzer(b)
		for b.Loop() {
			if _, err := q.Analyze(0.9 * most); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		_, most := benchAnalyzer(b)
		o := newPlain(benchConfig)
		for b.Loop() {
			o.analyze(0.9 * most)
		}
	})
}

func BenchmarkSize(b *testing.B) {
	b.Run("closed form", func(b *testing.B) {
		q, _ := benchAnalyzer(b)
		for b.Loop() {
			if _, err := q.Size(Targets{TTFT: benchTTFT, ITL: benchITL}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("percentile", func(b *testing.B) {
		q, _ := benchAnalyzer(b)
		for b.Loop() {
			if _, err := q.Size(Targets{TTFT: 2 * benchTTFT, TTFTPercentile: 0.9, ITL: benchITL}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		q, _ := benchAnalyzer(b)
		least, most := q.RateRange()
		o := newPlain(benchConfig)
		for b.Loop() {
			o.size(least, most, benchTTFT, benchITL)
		}
	})
}

func BenchmarkPercentile(b *testing.B) {
	loads := []struct {
		name string
		load float64
	}{{"in the batch", 0.5}, {"in the queue", 0.99}}
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			q, most := benchAnalyzer(b)
			for b.Loop() {
				if _, err := q.PercentileTTFT(l.load*most, 0.95); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(l.name+"/plain", func(b *testing.B) {
			_, most := benchAnalyzer(b)
			o := newPlain(benchConfig)
			for b.Loop() {
				o.percentile(l.load*most, 0.95)
			}
		})
	}
}

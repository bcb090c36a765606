package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// randomConfig is a replica with one of the published service models, small enough for
// the plain oracle.
func randomConfig(rng *rand.Rand) Config {
	c := Config{
		MaxBatch: 1 + rng.IntN(40),
		MaxQueue: rng.IntN(200),
		Size:     RequestSize{InputTokens: float64(rng.IntN(2000)), OutputTokens: 1 + float64(rng.IntN(500))},
	}
	if rng.IntN(2) == 0 {
		c.Service = FourParameter{
			Alpha: 1 + 20*rng.Float64(), Beta: rng.Float64(), Gamma: 10 * rng.Float64(), Delta: 0.01 * rng.Float64(),
		}
	} else {
		c.Service = ThreeParameter{Alpha: 1 + 20*rng.Float64(), Beta: 0.1 * rng.Float64(), Gamma: 0.001 * rng.Float64()}
	}
	return c
}

// forRandomQueues runs check on n random replicas.
func forRandomQueues(t *testing.T, n int, check func(*testing.T, Config, QueueAnalyzer, *rand.Rand)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	for range n {
		c := randomConfig(rng)
		check(t, c, mustAnalyzer(t, c), rng)
		if t.Failed() {
			t.Fatalf("with %+v", c)
		}
	}
}

// latencies names the fields of Metrics, for comparisons.
func latencies(m Metrics) map[string]float64 {
	return map[string]float64{
		"TTFT": m.TTFT, "ITL": m.ITL, "Wait": m.Wait, "Prefill": m.Prefill, "Service": m.Service, "Response": m.Response,
	}
}

func counts(m Metrics) map[string]float64 {
	return map[string]float64{
		"Throughput": m.Throughput, "Blocking": m.Blocking, "InSystem": m.InSystem, "InService": m.InService,
		"QueueLength": m.QueueLength, "Concurrency": m.Concurrency, "Utilization": m.Utilization,
	}
}

func TestAnalyzeEqualsTheSumOverAllStates(t *testing.T) {
	forRandomQueues(t, 300, func(t *testing.T, c Config, q QueueAnalyzer, rng *rand.Rand) {
		_, most := q.RateRange()
		for _, rate := range []float64{most * rng.Float64(), most * (1 - 0.01*rng.Float64()), most} {
			got, err := q.Analyze(rate)
			if err != nil {
				t.Fatal(err)
			}
			want := newPlain(c).analyze(rate)
			for _, fields := range []func(Metrics) map[string]float64{latencies, counts} {
				for name, g := range fields(got) {
					if w := fields(want)[name]; distance(g, w) > 1e-9 && math.Abs(g-w) > 1e-250 {
						t.Errorf("%s at %v is %v, want %v", name, rate, g, w)
					}
				}
			}
		}
	})
}

func TestPercentilesEqualTheSumOverAllStates(t *testing.T) {
	forRandomQueues(t, 40, func(t *testing.T, c Config, q QueueAnalyzer, rng *rand.Rand) {
		_, most := q.RateRange()
		o := newPlain(c)
		for _, rate := range []float64{most * rng.Float64(), most * (1 - 0.05*rng.Float64()), most} {
			for _, p := range []float64{0.01, 0.5, 0.9, 0.999} {
				got, err := q.PercentileTTFT(rate, p)
				if err != nil {
					t.Fatal(err)
				}
				if want := o.percentile(rate, p); distance(got, want) > 1e-8 {
					t.Errorf("percentile %v at %v is %v, want %v", p, rate, got, want)
				}
			}
			for _, p := range []float64{0.01, 0.5, 0.9, 0.999} {
				got, err := q.PercentileITL(rate, p)
				if err != nil {
					t.Fatal(err)
				}
				if want := o.percentileITL(rate, p); distance(got, want) > 1e-9 {
					t.Errorf("ITL percentile %v at %v is %v, want %v", p, rate, got, want)
				}
			}
			ttft := 3 * q.firstToken(c.MaxBatch) * rng.Float64()
			got, err := q.ShareWithinTTFT(rate, ttft)
			if err != nil {
				t.Fatal(err)
			}
			if want := o.within(rate, ttft); math.Abs(got-want) > 1e-10 {
				t.Errorf("share within %v ms at %v is %v, want %v", ttft, rate, got, want)
			}
		}
	})
}

func TestLittlesLawHolds(t *testing.T) {
	forRandomQueues(t, 300, func(t *testing.T, _ Config, q QueueAnalyzer, rng *rand.Rand) {
		_, most := q.RateRange()
		m, err := q.Analyze(most * rng.Float64())
		if err != nil {
			t.Fatal(err)
		}
		// Service comes from the service model at Concurrency, the counts from the
		// weights: that they agree is not arithmetic but the theorem.
		for _, l := range []struct {
			name           string
			in, rate, time float64
		}{
			{"the system", m.InSystem, m.Throughput, m.Response},
			{"the batch", m.InService, m.Throughput, m.Service},
			{"the queue", m.QueueLength, m.Throughput, m.Wait},
		} {
			if want := l.rate * l.time / perSecond; distance(l.in, want) > 1e-10 && math.Abs(l.in-want) > 1e-250 {
				t.Errorf("at %v: %v requests in %s, want %v", m.Rate, l.in, l.name, want)
			}
		}
		if distance(m.Throughput, m.Rate*(1-m.Blocking)) > 1e-12 {
			t.Errorf("throughput %v of %v with blocking %v", m.Throughput, m.Rate, m.Blocking)
		}
	})
}

func TestMoreLoadNeverBringsBetterLatency(t *testing.T) {
	forRandomQueues(t, 60, func(t *testing.T, _ Config, q QueueAnalyzer, _ *rand.Rand) {
		_, most := q.RateRange()
		before, err := q.Analyze(0)
		if err != nil {
			t.Fatal(err)
		}
		lastPercentile := 0.0
		const steps = 50
		for i := 1; i <= steps; i++ {
			rate := most * float64(i) / steps
			m, err := q.Analyze(rate)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range latencies(m) {
				if w := latencies(before)[name]; v < w*(1-1e-12) {
					t.Errorf("%s falls from %v to %v at %v", name, w, v, rate)
				}
			}
			if m.Throughput < before.Throughput {
				t.Errorf("throughput falls from %v to %v at %v", before.Throughput, m.Throughput, rate)
			}
			p, err := q.PercentileTTFT(rate, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if p < lastPercentile*(1-1e-9) {
				t.Errorf("the 90th percentile falls from %v to %v at %v", lastPercentile, p, rate)
			}
			before, lastPercentile = m, p
		}
	})
}

func TestNoLoadIsARequestAlone(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	got, err := q.Analyze(0)
	if err != nil {
		t.Fatal(err)
	}
	// gamma + delta x in x 1 = 5.2 + 0.1 x 128; alpha + beta = 20.58 + 0.41.
	want := Metrics{
		TTFT: 18, Prefill: 18, ITL: 20.99, Service: 18 + 127*20.99, Response: 18 + 127*20.99, Concurrency: 1,
	}
	for name, g := range latencies(got) {
		if w := latencies(want)[name]; distance(g, w) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, g, w)
		}
	}
	for name, g := range counts(got) {
		if w := counts(want)[name]; g != w {
			t.Errorf("%s is %v, want %v", name, g, w)
		}
	}
	// The published TTFT leaves the input tokens out: gamma + delta.
	ttft, itl, err := q.Published().Idle()
	if err != nil {
		t.Fatal(err)
	}
	if distance(ttft, 5.3) > 1e-12 || distance(itl, 20.99) > 1e-12 {
		t.Errorf("published idle TTFT %v and ITL %v, want 5.3 and 20.99", ttft, itl)
	}
	// The limit is continuous.
	for _, rate := range []float64{math.SmallestNonzeroFloat64, 1e-310, 1e-200, 1e-12} {
		m, err := q.Analyze(rate)
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range latencies(m) {
			if w := latencies(want)[name]; distance(g, w) > 1e-9 {
				t.Errorf("%s at %v is %v, want %v", name, rate, g, w)
			}
		}
	}
}

func TestOneServerWithoutAQueueIsErlangsLossFormula(t *testing.T) {
	c := Config{MaxBatch: 1, Service: FourParameter{Alpha: 10}, Size: RequestSize{InputTokens: 1, OutputTokens: 11}}
	q := mustAnalyzer(t, c) // 100 ms for each request
	got, err := q.Analyze(5)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.5 / 1.5; distance(got.Blocking, want) > 1e-14 {
		t.Errorf("blocking is %v, want %v", got.Blocking, want)
	}
	if _, err := q.Published().Analyze(5); err == nil {
		t.Error("the published versions refuse a capacity of 1")
	}
}

func TestAnAnalyzerIsSharedByManyGoroutines(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	want, err := q.Size(Targets{TTFT: 3000, TTFTPercentile: 0.9, ITL: 100})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := q.Size(Targets{TTFT: 3000, TTFTPercentile: 0.9, ITL: 100}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	wg.Wait()
}

func TestAnalyzersDoNotAllocate(t *testing.T) {
	for _, service := range []ServiceModel{
		FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
		ThreeParameter{Alpha: 8, Beta: 0.033, Gamma: 0.00033},
	} {
		c := benchConfig
		c.Service = service
		q := mustAnalyzer(t, c)
		_, most := q.RateRange()
		for _, op := range []struct {
			name string
			do   func() error
		}{
			{"Analyze", func() error { _, err := q.Analyze(0.9 * most); return err }},
			{"Size", func() error { _, err := q.Size(Targets{TTFT: 3000, ITL: 100, TPS: 10}); return err }},
			{"Size with a percentile", func() error { _, err := q.Size(Targets{TTFT: 3000, TTFTPercentile: 0.9}); return err }},
			{"Size with both percentiles", func() error {
				_, err := q.Size(Targets{TTFT: 3000, TTFTPercentile: 0.9, ITL: 100, ITLPercentile: 0.9})
				return err
			}},
			{"PercentileITL", func() error { _, err := q.PercentileITL(0.9*most, 0.9); return err }},
			{"PercentileTTFT", func() error { _, err := q.PercentileTTFT(0.999*most, 0.9); return err }},
			{"ShareWithinTTFT", func() error { _, err := q.ShareWithinTTFT(0.999*most, 5000); return err }},
			{"Published.Analyze", func() error { _, err := q.Published().Analyze(0.9 * most); return err }},
			{"Published.Size", func() error { _, err := q.Published().Size(Targets{TTFT: 3000, ITL: 100}); return err }},
		} {
			if err := op.do(); err != nil {
				t.Errorf("%T: %s: %v", service, op.name, err)
			}
			if n := testing.AllocsPerRun(20, func() { _ = op.do() }); n != 0 {
				t.Errorf("%T: %s allocates %v times", service, op.name, n)
			}
		}
	}
}

func FuzzQueueAnalyzer(f *testing.F) {
	f.Add(256, 2560, 20.58, 0.41, 5.2, 0.1, 128.0, 128.0, 0.9, 500.0, 30.0, 0.9)
	f.Add(1, 0, 10.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 10.0, 10.0, 0.5)
	f.Add(16, 160, 7.0, 0.03, 10.0, 0.001, 0.0, 1.0, 1e-9, 7.0, 7.0, 0.999)
	f.Add(3, 1, 1e-80, 1e90, 0.0, 1e-300, 1e5, 1e9, 0.5, 1e-9, 1e300, 1e-9)
	f.Fuzz(func(t *testing.T, batch, queue int, alpha, beta, gamma, delta, in, out, load, ttft, itl, p float64) {
		for _, service := range []ServiceModel{
			FourParameter{alpha, beta, gamma, delta}, ThreeParameter{alpha, beta, gamma},
		} {
			c := Config{batch % 2048, queue, service, RequestSize{in, out}}
			q, err := NewQueueAnalyzer(c)
			if err != nil {
				continue
			}
			if err := invariants(q, load, Targets{TTFT: ttft, ITL: itl, TTFTPercentile: p, ITLPercentile: p / 2}); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

// invariants checks what holds for every replica, load in (0, 1) and targets.
func invariants(q QueueAnalyzer, load float64, targets Targets) error {
	_, most := q.RateRange()
	m, err := q.Analyze(most * load)
	if err != nil {
		return nil //nolint:nilerr // a load out of range; refused loads have tests of their own
	}
	for _, fields := range []map[string]float64{latencies(m), counts(m)} {
		for name, v := range fields {
			if !finite(v) || v < 0 {
				return fmt.Errorf("%s at load %v is %v", name, load, v)
			}
		}
	}
	const rounding = 1 + 1e-9
	if m.Blocking > rounding || m.Utilization > rounding || m.Throughput > m.Rate*rounding ||
		m.Concurrency > float64(q.config.MaxBatch)*rounding || m.Concurrency < 1/rounding {
		return fmt.Errorf("out of bounds: %+v", m)
	}
	s, err := q.Size(targets)
	if err != nil {
		return nil //nolint:nilerr // targets out of range or out of reach; they have tests of their own
	}
	if targets.TTFT > 0 && s.TTFT > targets.TTFT*(1+1e-6) {
		return fmt.Errorf("size: TTFT %v misses %+v: %+v", s.TTFT, targets, s)
	}
	if targets.ITL > 0 && s.ITL > targets.ITL*rounding {
		return fmt.Errorf("size: ITL %v misses %+v: %+v", s.ITL, targets, s)
	}
	return nil
}
